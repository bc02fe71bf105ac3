import numpy as np
import pytest

from skimp.data import open_rows
from skimp.effects._design import Design
from skimp.effects._functionals import Functionals
from skimp.features import Landmarks
from skimp.kernels import Gaussian, Polynomial

RNG = np.random.default_rng(0)
X = np.column_stack(
    [RNG.normal(2, 3, 60), RNG.uniform(0, 1, 60), RNG.integers(0, 2, 60), RNG.integers(0, 3, 60)]
)
DESIGN = Design(open_rows(X), ["a", "b", "flag", "city"], {3: ["x", "y", "z"]}, standardize=True)
COEF = RNG.normal(size=(60, 2))


def scaled(X):
    out = np.empty((len(X), DESIGN.width))
    DESIGN.map_block(X, out)
    return out


def function(kernel, X):
    return kernel(scaled(X), scaled(globals()["X"])) @ COEF


def changed(X, column, value):
    X = X.copy()
    X[:, column] = value
    return X


def functionals(kernel, by=None):
    by = None if by is None else DESIGN.terms[by]
    return Functionals(Landmarks(kernel, scaled(X)), DESIGN, DESIGN.terms, by)


def differences(f, X):
    """Return effects by differences of f: central ones over a step, or of values."""
    step = 1e-5
    effects = [(f(X + step * unit) - f(X - step * unit)) / (2 * step) for unit in np.eye(4)[:2]]
    effects.append(f(changed(X, 2, 1)) - f(changed(X, 2, 0)))
    effects += [f(changed(X, 3, level)) - f(changed(X, 3, 0)) for level in (1, 2)]
    return np.stack(effects, axis=1)


KERNELS = pytest.mark.parametrize("kernel", [Gaussian(0.2), Polynomial(3, gamma=0.3)], ids=str)


@KERNELS
def test_effects_are_differences_of_the_function(kernel):
    found = functionals(kernel).pointwise(scaled(X), COEF)
    expected = differences(lambda X: function(kernel, X), X)
    assert np.abs(found - expected).max() < 1e-5 * max(1.0, np.abs(expected).max())


@KERNELS
@pytest.mark.parametrize("by", [None, 4])
def test_sums_are_those_of_effects(kernel, by):
    weights = RNG.uniform(size=60)
    made = functionals(kernel, by)
    L = made.sums(scaled(X), weights)
    expected = np.einsum("i,ijk->jk", weights, made.pointwise(scaled(X), COEF))
    assert L.shape == (60, len(made.terms))
    assert np.abs(L.T @ COEF - expected).max() < 1e-8 * np.abs(expected).max()


@KERNELS
def test_interactions_are_effects_of_effects(kernel):
    step = 1e-4
    for by, (low, high, scale) in {
        0: (X - step * np.eye(4)[0], X + step * np.eye(4)[0], 2 * step),
        2: (changed(X, 2, 0), changed(X, 2, 1), 1.0),
        4: (changed(X, 3, 0), changed(X, 3, 2), 1.0),
    }.items():
        plain = functionals(kernel)
        ends = [plain.pointwise(scaled(rows), COEF) for rows in (high, low)]
        found = functionals(kernel, by).pointwise(scaled(X), COEF)
        expected = (ends[0] - ends[1]) / scale
        assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()


def test_second_derivatives_of_a_known_surface():
    points = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    design = Design(open_rows(np.eye(2)), ["a", "b"], {}, standardize=False)
    terms = [type(t)(t.name, t.column) for t in design.terms]
    made = Functionals(
        Landmarks(Polynomial(2, gamma=1.0, coef0=0.0), points), design, terms, terms[1]
    )
    # (x . b)^2 of the three points: a^2, b^2 and (a + b)^2
    found = made.pointwise(np.array([[3.0, -2.0]]), np.eye(3))[0]
    assert np.allclose(found, [[0, 0, 2], [0, 2, 2]], atol=1e-8)
