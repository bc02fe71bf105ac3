import re
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from skimp.data import open_rows
from skimp.features import ExplicitPolynomial
from tests.pairs import in_turn, pairwise
from tests.problems import difference, regression, with_gaps

WIDTHS = [0.3, 0.0, 0.7]
FORMS = ["monomials", "kronecker"]

every_form = pytest.mark.parametrize("form", FORMS)
every_degree = pytest.mark.parametrize("degree", [1, 2, 3, 4])


def multinomial(columns):
    repeats = [columns.count(j) for j in set(columns)]
    return factorial(len(columns)) / prod(map(factorial, repeats))


def naive_features(X, degree, form, gamma=1.0, coef0=0.0):
    """All monomials with the roots of their coefficients, or all of a Kronecker power."""
    X = (X.toarray() if sparse.issparse(X) else X) * np.sqrt(gamma)
    if coef0:
        X = np.hstack([X, np.full((len(X), 1), np.sqrt(coef0))])
    if form == "kronecker":
        chosen = [(columns, 1) for columns in product(range(X.shape[1]), repeat=degree)]
    else:
        chosen = [
            (columns, multinomial(columns))
            for columns in combinations_with_replacement(range(X.shape[1]), degree)
        ]
    return np.stack([np.sqrt(n) * np.prod(X[:, list(c)], axis=1) for c, n in chosen], axis=1)


@every_form
@every_degree
@pairwise(coef0=[0.0, 1.5], gamma=[0.5, WIDTHS, "scale"], d=[1, 3])
def test_features_are_all_products_of_columns(form, degree, coef0, gamma, d):
    X = regression(9)[0][:, :d]
    gamma = gamma[:d] if isinstance(gamma, list) else gamma
    fitted = ExplicitPolynomial(degree, gamma=gamma, coef0=coef0, form=form).fit(X)
    for rows in (X, with_gaps(X)):
        expected = naive_features(rows, degree, form, fitted.kernel_.gamma, coef0)
        np.testing.assert_allclose(fitted.transform(rows), expected, rtol=1e-12, atol=1e-12)


@every_degree
@pytest.mark.parametrize("d", [1, 2, 5])
def test_monomials_are_those_of_scikit_learn_times_roots_of_multinomials(degree, d):
    X = regression(20, 5)[0][:, :d]
    monomials = PolynomialFeatures(degree, include_bias=False).fit(X)
    powers = monomials.powers_
    last = powers.sum(axis=1) == degree
    coefficients = [factorial(degree) / prod(map(factorial, n)) for n in powers[last].tolist()]
    expected = monomials.transform(X)[:, last] * np.sqrt(coefficients)
    np.testing.assert_allclose(
        ExplicitPolynomial(degree).fit_transform(X), expected, rtol=1e-12, atol=1e-12
    )


@every_degree
def test_coefficients_are_roots_of_multinomials(degree):
    Z = ExplicitPolynomial(degree).fit_transform(np.ones((1, 4)))[0]
    columns = list(combinations_with_replacement(range(4), degree))
    np.testing.assert_allclose(Z**2, [multinomial(c) for c in columns], rtol=1e-14)
    assert (Z**2).sum() == pytest.approx(4**degree)


@every_degree
def test_the_kronecker_power_is_that_of_numpy(degree):
    x = np.array([0.5, -2.0, 3.0])
    expected = x
    for _ in range(degree - 1):
        expected = np.kron(expected, x)
    Z = ExplicitPolynomial(degree, form="kronecker").fit_transform(x[None])
    np.testing.assert_allclose(Z[0], expected, rtol=1e-14)


@every_form
@pairwise(degree=[1, 2, 3, 4, 6], coef0=[0.0, 1.5], gamma=[0.5, WIDTHS, "scale"])
def test_inner_products_are_the_kernel(form, degree, coef0, gamma):
    X = regression(20)[0]
    fitted = ExplicitPolynomial(degree, gamma=gamma, coef0=coef0, form=form).fit(X)
    Z = fitted.transform(X)
    expected = ((X * fitted.kernel_.gamma) @ X.T + coef0) ** degree
    assert difference(Z @ Z.T, expected) <= 1e-13 * degree
    assert difference(fitted.kernel_(X), expected) <= 1e-13 * degree


@every_form
@every_degree
def test_a_constant_is_a_column_more(form, degree):
    X = regression(20)[0]
    Z = ExplicitPolynomial(degree, coef0=2.0, form=form).fit_transform(X)
    rows = np.hstack([X, np.full((20, 1), np.sqrt(2.0))])
    expected = ExplicitPolynomial(degree, form=form).fit_transform(rows)
    np.testing.assert_allclose(Z, expected, rtol=1e-12, atol=1e-12)


@every_degree
@in_turn(d=[1, 2, 6], coef0=[0, 0.0, 1e-9, 3.0])
def test_widths(degree, d, coef0):
    X, columns = np.ones((2, d)), d + (coef0 > 0)
    for form, width in zip(
        FORMS, [comb(columns + degree - 1, degree), columns**degree], strict=True
    ):
        explicit = ExplicitPolynomial(degree, coef0=coef0, form=form)
        assert explicit.planned_width(open_rows(X)) == width
        assert explicit.fit(X).width == explicit.transform(X).shape[1] == width


@every_form
@pytest.mark.parametrize("limit", [None, "2GB", 10**9])
def test_a_width_that_does_not_fit_is_refused_before_it_is_drawn(form, limit):
    explicit = ExplicitPolynomial(5, form=form, memory_limit=limit)
    width = comb(784 + 4, 5) if form == "monomials" else 784**5
    message = f"ExplicitPolynomial: 1 row of {width:,} features needs "
    with pytest.raises(MemoryError, match=re.escape(message)) as error:
        explicit.fit(np.ones((2, 784)))
    assert "use PolynomialProjection or TensorSketch" in str(error.value)
    assert str(error.value).endswith("or raise memory_limit.")
    assert set(vars(explicit)) == {"degree", "gamma", "coef0", "form", "memory_limit"}


@pytest.mark.parametrize("degree", [60, 700, 10_000])
def test_a_width_beyond_counting_is_refused(degree):
    with pytest.raises(MemoryError, match="1 row of more than"):
        ExplicitPolynomial(degree, form="kronecker").fit(np.ones((2, 3)))


def test_a_power_of_one_column_has_one_entry():
    X = np.array([[1.1], [0.9]])
    Z = ExplicitPolynomial(64, form="kronecker").fit_transform(X)
    np.testing.assert_allclose(Z, X**64)


def test_rows_whose_features_do_not_fit_are_refused():
    X = np.ones((20, 3))
    fitted = ExplicitPolynomial(memory_limit="1MB").fit(X)
    assert fitted.transform(np.ones((20_000, 3))).shape == (20_000, 6)
    message = (
        "ExplicitPolynomial: 30000 rows of 6 features needs 1.44 MB, more than the memory limit "
        "of 1 MB: use PolynomialProjection or TensorSketch"
    )
    for rows in (np.ones((30_000, 3)), sparse.csr_matrix((30_000, 3))):
        with pytest.raises(MemoryError, match=re.escape(message)):
            fitted.transform(rows)
    single = ExplicitPolynomial(memory_limit="1MB").fit(X.astype(np.float32))
    assert single.transform(np.ones((30_000, 3), np.float32)).nbytes == 720_000
    assert fitted.set_params(memory_limit=None).transform(np.ones((30_000, 3))).shape[0] == 30_000


def test_a_fit_that_does_not_fit_leaves_the_map_as_it_was():
    X = regression(20)[0]
    fitted = ExplicitPolynomial(memory_limit="1MB").fit(X)
    before, state = fitted.transform(X), dict(vars(fitted))
    with pytest.raises(MemoryError, match="more than the memory limit of 1 MB"):
        fitted.set_params(degree=5).fit(np.ones((2, 30)))
    assert vars(fitted) == {**state, "degree": 5}
    assert np.array_equal(fitted.transform(X), before)
