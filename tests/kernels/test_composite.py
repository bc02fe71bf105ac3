import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skimp import KernelRegressor, kernels
from skimp.data import open_rows
from skimp.kernels import (
    Chi2,
    Cosine,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sum,
    Tanh,
)
from tests.reference import naive

g, h, p = Gaussian(1.0), Laplacian([0.5, 0.0]), Polynomial(2, 0.1)
COMPOSITIONS = [
    Sum(g, Sum(h, p)),
    Sum(Sum(g, h), p),
    Product(g, Product(h, p)),
    Product(Product(g, h), p),
    Product(g, Scaled(h, 2.0)),
    Product(Scaled(g, 2.0), h),
    Scaled(Product(g, h), 2.0),
    Scaled(Scaled(g, 3.0), 2.0),
    Scaled(Sum(g, h), 0.1),
    Product(Sum(g, h), Sum(h, p)),
    Sum(Product(g, h), Product(h, p)),
    Sum(g, Scaled(Product(h, p), 1e-12)),
    Sum(g, h).on([0, 1]),
    Product(g, h).on(["a", "b"]),
    Scaled(g, 2.0).on(["it's"]),
    Scaled(g.on([3]), 2.0),
    Product(g.on([0]), Scaled(h.on([1, 2]).on([5, 4, 3]), 2.0)),
    Scaled(Product(Sum(g, Scaled(h, 2.0)).on([1, 0]), Sum(p, g)), 1 / 3),
    Sum(Matern(gamma="median"), Scaled(Cosine(), 1e300)),
]


@pytest.mark.parametrize("kernel", COMPOSITIONS, ids=repr)
def test_repr_is_the_formula_that_makes_the_kernel(kernel):
    assert eval(repr(kernel), vars(kernels)) == kernel
    assert repr(eval(repr(kernel), vars(kernels))) == repr(kernel)


def test_repr_has_the_parentheses_that_it_needs():
    assert repr(g + 2 * h.on([0, 1])) == (
        "Gaussian(gamma=1.0) + 2.0 * Laplacian(gamma=[0.5, 0.0]).on([0, 1])"
    )
    assert repr((g + p) * g) == (
        "(Gaussian(gamma=1.0) + Polynomial(degree=2, gamma=0.1)) * Gaussian(gamma=1.0)"
    )
    assert repr((2 * Linear()).on("a")) == "(2.0 * Linear()).on(['a'])"


def test_parameters_are_reached_inside():
    kernel = 2.0 * g.on([0]) + h
    params = kernel.get_params()
    assert params["k1__factor"] == 2.0
    assert params["k1__kernel__columns"] == [0]
    assert params["k1__kernel__kernel__gamma"] == 1.0
    assert params["k2__gamma"] == [0.5, 0.0]
    assert set(kernel.get_params(deep=False)) == {"k1", "k2"}
    kernel = clone(kernel).set_params(k1__kernel__kernel__gamma=9.0)
    kernel.set_params(k2=Polynomial(2, 0.1), k2__degree=4)
    assert kernel == 2.0 * Gaussian(9.0).on([0]) + Polynomial(4, 0.1)
    with pytest.raises(ValueError, match="Invalid parameter 'no_such'"):
        kernel.set_params(k1__no_such=1)


@pytest.mark.parametrize(
    "other", [None, "rbf", "2", Gaussian, [2.0], {}, 2j, np.ones(3), np.array(2.0), object()]
)
def test_what_is_neither_a_kernel_nor_a_number_takes_no_part(other):
    for wrong in (
        lambda: g * other,
        lambda: other * g,
        lambda: g + other,
        lambda: other + g,
    ):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("factor", [True, np.bool_(True)])
def test_booleans_are_no_factors(factor):
    with pytest.raises(TypeError):
        g * factor
    with pytest.raises(TypeError):
        factor * g


def test_kernels_can_be_summed_up():
    assert sum([g, Linear(), g]) == g + Linear() + g


@pytest.mark.parametrize("number", [0.0, 1, 2.0, np.float64(1.0)])
def test_numbers_are_not_added(number):
    with pytest.raises(TypeError):
        g + number
    with pytest.raises(TypeError):
        number + g


def test_flags_follow_from_the_parts():
    f = FunctionKernel(naive.one_plus_product)
    for both in (g + Linear(), g * Linear()):
        assert both.positive_definite
        assert both.rotation_invariant
        assert both.differentiable
        assert not both.stationary
        assert not both.needs_nonnegative
        assert not both.takes_objects
    for both in (g + h, g * h, 2.0 * h, h.on([0, 1])):
        assert both.stationary
        assert not both.rotation_invariant
    for part, flag, value in (
        (Tanh(1.0), "positive_definite", False),
        (Chi2(1.0), "needs_nonnegative", True),
        (f, "takes_objects", True),
        (f, "differentiable", False),
        (
            FunctionKernel(naive.one_plus_product, positive_definite=False),
            "positive_definite",
            False,
        ),
        (Precomputed(np.eye(2), positive_definite=False), "positive_definite", False),
    ):
        for whole in (g + part, part + g, g * part, part * g, 2.0 * part, part.on([0])):
            assert getattr(whole, flag) is value
            assert getattr(g + 2.0 * (whole * g).on([0, 1]), flag) is value
    assert (2.0 * g).rotation_invariant
    assert not g.on([0]).rotation_invariant


@pytest.mark.parametrize(
    "kernel",
    [g + FunctionKernel(max), g * FunctionKernel(max), (2.0 * FunctionKernel(max)).on([0])],
)
def test_a_part_without_a_gradient_is_refused(kernel):
    with pytest.raises(ValueError, match="gradient: kernel must be differentiable in x, got "):
        kernel.gradient(np.ones((2, 2)))
    with pytest.raises(ValueError, match="gradient: kernel must be differentiable in x, got "):
        kernel.expansion_gradient(np.ones((2, 2)), np.ones((2, 2)), np.ones(2))


def test_names_inside_are_resolved_with_the_rest():
    X = pd.DataFrame(np.random.default_rng(0).random((20, 3)), columns=["a", "b", "c"])
    kernel = (2.0 * Gaussian().on("c") + Linear()) * Laplacian("median").on(["b", "a"])
    resolved = kernel.resolve(open_rows(X), 0)
    assert resolved.k1.k1.kernel.columns == [2]
    assert resolved.k1.k1.kernel.kernel.gamma == pytest.approx(1 / X["c"].var(ddof=0))
    assert resolved.k2.columns == [1, 0]
    assert resolved(X).shape == (20, 20)
    assert np.array_equal(resolved(X), resolved(X.to_numpy()))
    assert kernel.k2.columns == ["b", "a"]


def test_a_grid_search_reaches_inside():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    model = KernelRegressor(Gaussian(1e-6).on([0]) + Linear(), approximation=None, alpha=1e-4)
    grid = {"kernel__k1__kernel__gamma": [1e-6, 1.0], "kernel__k1__columns": [[0], [2]]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__k1__kernel__gamma": 1.0, "kernel__k1__columns": [0]}
    assert search.best_estimator_.kernel_ == Gaussian(1.0).on([0]) + Linear()
