import numpy as np
import pytest

from skimp.data import Context, open_rows
from skimp.losses import log, softmax, squared
from skimp.solvers import Newton, Problem, _descent
from skimp.solvers._preconditioner import Preconditioner
from tests.problems import labelled
from tests.sources import ChunkedRows

tight = Newton(tol=1e-12)


class Identity:
    """A feature map that leaves the rows as they are, and counts blocks."""

    def __init__(self, width):
        self.width, self.dtype, self.n_blocks = width, np.dtype(np.float64), 0

    def map_block(self, X, out):
        out[...] = X
        self.n_blocks += 1


def data(n=300, d=4):
    X, y, weight = labelled(n, d)
    return X, np.where(y[:, None] == np.arange(3), 1.0, -1.0), weight


@pytest.mark.parametrize("loss", [squared, log, softmax], ids=repr)
def test_features_are_kept_where_they_fit(loss):
    X, Y, weight = data()
    solutions = []
    for limit, how in (
        (None, "features kept in memory"),
        (40_000, "features computed in each pass"),
    ):
        identity = Identity(4)
        rows = ChunkedRows(X, Y, weight).mapped(identity)
        found = tight.solve(Problem(rows, loss, 0.05, memory_limit=limit), Context(n_jobs=1))
        assert found.converged
        assert found.message.endswith(how)
        assert (identity.n_blocks == 1 + -(-300 // 16)) == (limit is None)
        solutions.append(found)
    np.testing.assert_allclose(solutions[0].coef, solutions[1].coef, atol=1e-8)


def test_a_memory_limit_that_is_too_small():
    X, Y, _ = data()
    with pytest.raises(MemoryError, match=r"a solver with 4 features .* take a smaller budget"):
        tight.solve(Problem(open_rows(X, target=Y), log, 0.05, memory_limit=5000))


@pytest.mark.parametrize("loss", [squared, log, softmax], ids=repr)
@pytest.mark.parametrize("penalized", [False, True])
def test_bits_do_not_depend_on_threads(loss, penalized):
    X, Y, weight = data()
    P = np.diag([1.0, 2.0, 3.0, 4.0]) if penalized else None
    one, two = (
        tight.solve(
            Problem(
                open_rows(X, target=Y, weight=weight, block_rows=32),
                loss,
                0.05,
                P,
            ),
            Context(n_jobs),
        )
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one.coef, two.coef)
    assert np.array_equal(one.history, two.history)
    assert one.message == two.message


@pytest.mark.parametrize("loss", [squared, log, softmax], ids=repr)
def test_a_penalty_is_a_change_of_coordinates(loss):
    X, Y, _ = data()
    A = np.random.default_rng(1).normal(size=(4, 12))
    P = A @ A.T / 12
    T = np.linalg.cholesky(P).T
    rows = open_rows(X, target=Y)
    plain = open_rows(X @ np.linalg.inv(T), target=Y)
    found = tight.solve(Problem(rows, loss, 0.05, P))
    expected = tight.solve(Problem(plain, loss, 0.05))
    np.testing.assert_allclose(T @ found.coef, expected.coef, atol=1e-5)
    assert found.history[-1] == pytest.approx(expected.history[-1], rel=1e-9)


@pytest.mark.parametrize("loss", [squared, log, softmax], ids=repr)
def test_weights_are_repetitions(loss):
    X, Y, weight = data()
    count = weight.astype(int)
    found = tight.solve(Problem(open_rows(X, target=Y, weight=weight), loss, 0.05))
    rows = open_rows(np.repeat(X, count, axis=0), target=np.repeat(Y, count, axis=0))
    expected = tight.solve(Problem(rows, loss, 0.05))
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-5)


def test_what_overflows_is_refused():
    X, Y, _ = data()
    with (
        pytest.raises(ValueError, match="infinity or NaN: rescale"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        tight.solve(Problem(open_rows(1e200 * X, target=Y), squared, 0.05))


@pytest.mark.parametrize(("price", "least", "most"), [(np.inf, 1, 1), (0.0, 2, 100)])
def test_samples_are_summed_anew_where_products_cost_more(price, least, most, monkeypatch):
    X, Y, _ = data(2000, 30)
    problem = Problem(open_rows(X, target=Y), log, 1e-6)
    updates = []
    update = Preconditioner.update
    monkeypatch.setattr(
        Preconditioner, "update", lambda *args: updates.append(args) or update(*args)
    )
    monkeypatch.setattr(_descent._Price, "of_sums", lambda *_: price)
    solution = Newton(tol=1e-8).solve(problem)
    assert solution.converged
    assert least <= len(updates) <= most
