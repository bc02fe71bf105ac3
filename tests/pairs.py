"""Few cases of a parametrized test instead of all combinations of its arguments."""

import re
from itertools import combinations, product

import pytest


def pairwise(**values):
    """Parametrize a test so that any two values of different arguments meet in a case."""
    if len(values) < 2:
        raise ValueError(f"pairwise must have at least two arguments, got {list(values)}")
    given = [list(each) for each in values.values()]

    def pairs(case):
        return set(combinations(enumerate(case), 2))

    cases = list(product(*(range(len(each)) for each in given)))
    missing, chosen = set().union(*map(pairs, cases)), []
    while missing:
        chosen.append(max(cases, key=lambda case: len(pairs(case) & missing)))
        missing -= pairs(chosen[-1])
    rows = [[each[i] for each, i in zip(given, case, strict=True)] for case in chosen]
    return pytest.mark.parametrize(list(values), rows)


def in_turn(**values):
    """Parametrize a test so that each value occurs in a case, those of short lists repeatedly."""
    given = [list(each) for each in values.values()]
    longest = max(map(len, given))
    rows = [[each[i % len(each)] for each in given] for i in range(longest)]
    return pytest.mark.parametrize(list(values), rows)


def thorough(*values):
    """Return values of an argument for thorough runs alone."""
    return [pytest.param(value, marks=pytest.mark.thorough) for value in values]


def first(few, many):
    """Return seeds below ``many``, of which those from ``few`` on are for thorough runs."""
    return [*range(few), *thorough(*range(few, many))]


def named(value):
    """Return an id of a value that is the same in every process: functions have addresses."""
    return re.sub(r" at 0x\w+", "", repr(value))
