"""Few cases of a parametrized test that hold every pair of values."""

from itertools import combinations, product

import pytest


def pairwise(**values):
    """Parametrize a test so that any two values of different arguments meet in a case."""
    names = list(values)

    def pairs(case):
        return set(combinations(enumerate(case), 2))

    cases = list(product(*(range(len(given)) for given in values.values())))
    missing, chosen = set().union(*map(pairs, cases)), []
    while missing:
        chosen.append(max(cases, key=lambda case: len(pairs(case) & missing)))
        missing -= pairs(chosen[-1])
    rows = [[values[name][i] for name, i in zip(names, case, strict=True)] for case in chosen]
    return pytest.mark.parametrize(names, rows)


def thorough(*values):
    """Return values of an argument for thorough runs alone."""
    return [pytest.param(value, marks=pytest.mark.thorough) for value in values]


def first(few, many):
    """Return seeds below ``many``, of which those from ``few`` on are for thorough runs."""
    return [*range(few), *thorough(*range(few, many))]
