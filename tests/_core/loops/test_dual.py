import numpy as np
import pytest
from scipy.optimize import linprog

from skimp._core.loops import _dual as loops
from skimp.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Log,
    MulticlassHinge,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from tests.catalog import COST
from tests.pairs import in_turn

PIECEWISE = [
    Hinge(),
    SquaredHinge(),
    Squared(),
    Huber(0.75),
    Quantile(0.8),
    EpsilonInsensitive(0.25),
    SquaredEpsilonInsensitive(0.25),
]


def parameters(loss):
    lows, highs = (np.broadcast_to(v, 2).astype(float) for v in loss.limits(np.array([-1.0, 1.0])))
    return lows, highs, float(loss.epsilon), float(loss.curve)


def swept(loop, x, C, y, slopes, f, *, worst=np.inf, extra=()):
    """Take one step for one row whose outputs predict f; return slopes, V, flags, violations."""
    k = len(y)
    V = np.zeros((k, len(x)))
    slopes, active, largest = np.array([slopes], float), np.ones((1, k), bool), np.zeros(k)
    before = slopes.copy()
    # the predictions come from the intercept, which a constant of 0 leaves alone
    steps = loop(
        x[None].copy(),
        np.array([0]),
        (0, k),
        np.array([x @ x]),
        np.array([C]),
        np.array([y], float),
        slopes,
        active,
        0.0,
        V,
        np.array(f, float),
        np.full(k, worst),
        largest,
        *extra,
    )
    assert steps == k
    np.testing.assert_allclose(V, C * (slopes - before).T * x, rtol=1e-12, atol=1e-14)
    return slopes[0], active[0], largest


def dual_cost(loss, A, y, f, old, new):
    """Return what a step from the old to the new slopes minimizes, over C; one row each."""
    y, new = np.broadcast_arrays(np.asarray(y, float), np.atleast_2d(new))
    moved = new - old
    quadratic = 0.5 * A * np.sum(moved**2, axis=1) + moved @ np.asarray(f, float)
    return quadratic + loss.conjugate(y, -new).sum(axis=1)


@in_turn(loss=PIECEWISE, A=[0.0, 0.1, 1.0, 30.0])
def test_a_step_minimises_over_a_slope(loss, A):
    rng = np.random.default_rng(2)
    extra = parameters(loss)
    for _ in range(60):
        y = rng.choice([-1.0, 1.0]) if loss.labels else rng.normal()
        low, high = np.clip(loss.limits(np.array(y)), -8, 8)
        old = rng.choice([low, high, 0.0, rng.uniform(low, high)])
        f, x = rng.normal(scale=2), np.array([3.0, 4.0]) * (A > 0)
        new, _, largest = swept(loops.piecewise_sweep, x, A / 25, [y], [old], [f], extra=extra)
        grid = np.linspace(low, high, 2001)[:, None]
        best = dual_cost(loss, A, y, [f], old, grid).min()
        found = dual_cost(loss, A, y, [f], old, new)[0]
        assert found <= best + 1e-12 * (1 + abs(best))
        assert (largest[0] == 0) == (new[0] == old)


@pytest.mark.parametrize("A", [0.0, 1e-8, 0.1, 30.0, 1e8])
def test_a_step_of_the_logistic_loss_is_stationary(A):
    rng = np.random.default_rng(3)
    for _ in range(100):
        y = rng.choice([-1.0, 1.0])
        p = rng.choice([1e-12, 1e-3, rng.uniform(), 0.999])
        f, x = rng.normal(scale=5), np.array([3.0, 4.0]) * (A > 0)
        new, active, largest = swept(loops.log_sweep, x, A / 25, [y], [y * p], [f])
        z = y * new[0]
        assert 0 < z < 1
        # the derivative changes its sign within a relative 1e-7 of z
        sides = [
            A * (t - p) + y * f + np.log(t / (1 - t)) for t in z + 1e-7 * z * np.array([-1, 1])
        ]
        assert sides[0] <= 0 <= sides[1] or min(z, 1 - z) < 1e-9
        np.testing.assert_allclose(largest, abs(y * f + np.log(p / (1 - p))), rtol=1e-12)
        assert active.all()


@pytest.mark.parametrize("margin", [-1e4, -50.0, 50.0, 1e4])
def test_logistic_slopes_stay_inside_their_limits(margin):
    new, _, _ = swept(loops.log_sweep, np.ones(1), 1e-3, [1.0], [0.5], [margin])
    assert 0 < new[0] < 1


@pytest.mark.parametrize("A", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_step_of_the_multiclass_hinge_loss_minimises_over_distributions(A, k):
    rng = np.random.default_rng(4)
    for _ in range(40):
        cost = np.where(np.eye(k) > 0, 0.0, rng.uniform(0, 3, (k, k)))
        loss = MulticlassHinge(cost)
        own = np.eye(k)[rng.integers(k)]
        old, f = own - rng.dirichlet(np.full(k, 0.3)), rng.normal(scale=2, size=k)
        y = 2 * own - 1
        x = np.array([3.0, 4.0])
        new, _, _ = swept(loops.multiclass_sweep, x, A / 25, y, old, f, extra=(cost,))
        np.testing.assert_allclose(new.sum(), 0, atol=1e-12)
        found = dual_cost(loss, A, y, f, old, new)[0]
        others = own - rng.dirichlet(np.full(k, 0.5), 500)
        near = new + 1e-3 * (others - new)
        for candidates in (others, near, own - np.eye(k)):
            assert found <= dual_cost(loss, A, y, f, old, candidates).min() + 1e-12


def test_a_row_of_zeros_takes_the_class_ahead():
    own, f = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.5, 0.25])
    y, extra = 2 * own - 1, (1 - np.eye(3),)
    new, _, _ = swept(loops.multiclass_sweep, np.zeros(2), 1.0, y, np.zeros(3), f, extra=extra)
    expected = linprog(-(f + 1 - own), A_eq=np.ones((1, 3)), b_eq=[1.0]).x
    np.testing.assert_allclose(own - new, expected)


def test_slopes_far_inside_their_limit_become_inactive():
    extra = parameters(Hinge())
    for f, slope, worst, expected in [
        (3.0, 0.0, 1.5, False),
        (3.0, 0.0, 2.5, True),
        (3.0, 0.0, np.inf, True),
        (-3.0, 1.0, 3.5, False),
        (-3.0, 1.0, 4.5, True),
        (1.0, 0.5, 0.0, True),
    ]:
        new, active, largest = swept(
            loops.piecewise_sweep, np.ones(1), 1.0, [1.0], [slope], [f], worst=worst, extra=extra
        )
        assert (new[0], active[0], largest[0]) == (slope, expected, 0)


def test_slopes_at_the_kink_become_inactive():
    extra = parameters(EpsilonInsensitive(1.0))
    for f, worst, expected in [(0.1, 0.5, False), (0.1, 0.95, True), (0.9, 0.5, True)]:
        _, active, _ = swept(
            loops.piecewise_sweep, np.ones(1), 1.0, [0.0], [0.0], [f], worst=worst, extra=extra
        )
        assert active[0] == expected


def test_classes_far_behind_become_inactive():
    y = np.array([1.0, -1.0, -1.0])
    options = {"worst": 1.0, "extra": (1 - np.eye(3),)}
    f, far = np.array([2.0, 1.5, -2.0]), np.array([9.0, 0.0, 0.0])
    _, active, _ = swept(loops.multiclass_sweep, np.ones(1), 1.0, y, np.zeros(3), f, **options)
    assert active.tolist() == [True, True, False]
    # nothing is left to be moved in a row whose own class has all of p and is far ahead
    _, active, _ = swept(loops.multiclass_sweep, np.ones(1), 1.0, y, np.zeros(3), far, **options)
    assert not active.any()


@pytest.mark.parametrize("loss", [*PIECEWISE, Log()], ids=repr)
def test_inactive_outputs_stay(loss):
    piecewise = not isinstance(loss, Log)
    V, slopes, active = np.ones((2, 1)), np.full((1, 2), 0.5), np.array([[False, True]])
    (loops.piecewise_sweep if piecewise else loops.log_sweep)(
        np.ones((1, 1)),
        np.array([0]),
        (0, 2),
        np.ones(1),
        np.ones(1),
        np.ones((1, 2)),
        slopes,
        active,
        0.0,
        V,
        np.full(2, -5.0),
        np.full(2, np.inf),
        np.zeros(2),
        *(parameters(loss) if piecewise else ()),
    )
    assert (slopes[0, 0], V[0, 0]) == (0.5, 1.0)
    assert V[1, 0] != 1.0


@pytest.mark.parametrize("loss", [*PIECEWISE, Log()], ids=repr)
def test_outputs_of_others_stay(loss):
    rng, piecewise = np.random.default_rng(6), not isinstance(loss, Log)
    X, Y = rng.normal(size=(5, 2)), np.sign(rng.normal(size=(5, 3)))
    Q, order = np.sum(X**2, axis=1), np.arange(5)
    states = []
    for shares in ([(0, 3)], [(2, 3), (0, 2)], [(0, 2)]):
        slopes, active, V, b = 0.5 * Y, np.ones((5, 3), bool), np.zeros((3, 2)), np.zeros(3)
        for share in shares:
            (loops.piecewise_sweep if piecewise else loops.log_sweep)(
                X,
                order,
                share,
                Q,
                np.ones(5),
                Y,
                slopes,
                active,
                1.0,
                V[slice(*share)],
                b,
                np.full(3, np.inf),
                np.zeros(3),
                *(parameters(loss) if piecewise else ()),
            )
        states.append((slopes, V, b))
    whole, shared, part = states
    assert all(np.array_equal(a, b) for a, b in zip(whole, shared, strict=True))
    assert np.array_equal(part[0][:, :2], whole[0][:, :2])
    assert np.array_equal(part[0][:, 2], 0.5 * Y[:, 2])


@pytest.mark.parametrize("loss", [*PIECEWISE, MulticlassHinge(COST)], ids=repr)
def test_just_the_slopes_that_a_step_would_move_become_active_again(loss):
    rng = np.random.default_rng(5)
    Y = np.where(np.eye(3)[rng.integers(0, 3, 40)] > 0, 1.0, -1.0)
    # multiples of 1/64: optimal slopes are optimal without rounding
    F = np.round(64 * rng.normal(scale=2, size=(40, 3))) / 64
    optimal = rng.uniform(size=(40, 1 if loss.joint else 3)) < 0.6
    slopes = np.where(optimal, -loss.gradient(Y, F), 0.0)
    active = np.zeros((40, 3), bool)
    loop, wake, extra = loops.multiclass_sweep, loops.multiclass_wake, (np.array(COST),)
    if not loss.joint:
        loop, wake, extra = loops.piecewise_sweep, loops.piecewise_wake, parameters(loss)
    wake(F, Y, slopes, active, *extra)
    for i in range(40):
        new, _, largest = swept(loop, np.ones(1), 0.01, Y[i], slopes[i], F[i], extra=extra)
        assert not ((np.abs(new - slopes[i]) > 1e-12) & ~active[i]).any()
        if loss.joint:
            assert active[i].any() == (largest[0] > 0)
        else:
            assert np.array_equal(active[i], largest > 0)
    assert 0 < active.sum() < active.size
