import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skimp.budgets._groups import share_points


def webster(counts, size, votes=None):
    """Give one point at a time to the group of the largest quotient that has a row left."""
    votes = counts if votes is None else votes
    groups = range(len(counts))
    enough = sum(count > 0 for count in counts) <= size
    given = [int(enough and count > 0) for count in counts]
    while sum(given) < size:
        open_groups = [g for g in groups if given[g] < counts[g]]
        given[max(open_groups, key=lambda g: (votes[g] / (2 * given[g] + 1), -g))] += 1
    return given


@st.composite
def elections(draw):
    counts = draw(st.lists(st.integers(0, 30), min_size=1, max_size=8).filter(any))
    size = draw(st.integers(1, sum(counts)))
    votes = draw(
        st.none() | st.lists(st.integers(1, 99), min_size=len(counts), max_size=len(counts))
    )
    return counts, size, votes


@given(elections())
def test_shares_are_those_of_webster(election):
    counts, size, votes = election
    found = share_points(np.array(counts), size, None if votes is None else np.array(votes))
    assert found.tolist() == webster(counts, size, votes)


@given(elections())
def test_every_point_is_shared_out_none_to_a_row_that_is_not_there(election):
    counts, size, votes = election
    given = share_points(np.array(counts), size, None if votes is None else np.array(votes))
    assert given.sum() == size
    assert np.all((given >= 0) & (given <= counts))
    if np.count_nonzero(counts) <= size:
        assert np.array_equal(given > 0, np.array(counts) > 0)


@pytest.mark.parametrize(
    ("counts", "size", "expected"),
    [
        ([60, 30, 10], 10, [6, 3, 1]),
        ([1000, 1], 2, [1, 1]),
        ([1000, 1], 1, [1, 0]),
        ([5, 5, 5], 2, [1, 1, 0]),
        ([0, 4, 0, 4], 2, [0, 1, 0, 1]),
        ([3, 2, 1], 6, [3, 2, 1]),
        ([7], 3, [3]),
    ],
)
def test_shares_in_proportion_to_rows(counts, size, expected):
    assert share_points(np.array(counts), size).tolist() == expected


@pytest.mark.parametrize(
    ("counts", "size", "expected"),
    [([90, 90, 90], 9, [3, 3, 3]), ([90, 2, 90], 20, [9, 2, 9]), ([1, 90, 1], 10, [1, 8, 1])],
)
def test_equal_votes_give_equal_shares_as_far_as_there_are_rows(counts, size, expected):
    assert share_points(np.array(counts), size, np.ones(3)).tolist() == expected


def test_shares_satisfy_the_inequality_of_webster_for_large_groups():
    counts = np.random.default_rng(0).integers(1000, 100_000, 50)
    given = share_points(counts, 3000)
    most_deserving_next = (counts / (given + 0.5)).max()
    least_deserving_last = (counts / (given - 0.5))[given > 1].min()
    assert most_deserving_next <= least_deserving_last
    assert given.sum() == 3000
