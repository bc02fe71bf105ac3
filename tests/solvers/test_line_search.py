import numpy as np
import pytest

from skimp.solvers._line_search import minimum_along

MINIMA = np.array([1.0, 1.04, 0.6, 0.3, 0.01, 3.7, 40.0, 500.0, 1e-30])


def searched(minima, at_once, *, flat=0.05, doublings=6):
    """Search along parabolas with these minima; also return the number of calls."""
    calls = []

    def slopes(T):
        calls.append(len(T))
        return (T - minima) / minima

    flat = np.full(minima.shape, flat)
    return minimum_along(slopes, (1 - minima) / minima, flat, doublings, at_once), calls


@pytest.mark.parametrize("doublings", [0, 6])
@pytest.mark.parametrize("minima", [MINIMA, *map(np.array, MINIMA)], ids=str)
def test_the_number_of_lengths_per_call_does_not_change_the_result(minima, doublings):
    (one, single), (several, calls) = (
        searched(minima, at_once, doublings=doublings) for at_once in (1, 7)
    )
    assert np.array_equal(one, several)
    assert max(single, default=1) == 1
    assert max(calls, default=7) <= 7
    assert len(calls) <= (10 if np.min(minima) < 1e-9 else 4)


def test_it_ends_near_the_minimum():
    t, _ = searched(MINIMA, 1)
    # the longest step is 64, and rounding ends the search for the shortest one
    near = np.clip(MINIMA, 0.0, 64.0)
    near[1] = 1.0
    np.testing.assert_allclose(t[:-1], near[:-1], rtol=0.05)
    assert 0 <= t[-1] <= 0.25**40


def test_a_flat_end_takes_no_call():
    t, calls = searched(np.array([1.0, 1.04]), 7)
    assert not calls
    assert t.tolist() == [1.0, 1.0]
