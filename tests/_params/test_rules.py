import re
from types import SimpleNamespace

import numpy as np
import pytest

from skimp._params._rules import (
    BOOLEAN,
    FRACTION,
    N_JOBS,
    NONE,
    RANDOM_STATE,
    broken,
    check_params,
    instance,
    integer,
    is_auto,
    number,
    numbers,
    one_of,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("rule", "allowed", "refused"),
    [
        (integer(1), [1, 7, np.int8(3)], [0, -1, 1.0, "1", None, True, np.True_, NAN]),
        (integer(0, 2), [0, 1, np.int64(2)], [-1, 3, 1.0, True, "1", None]),
        (
            numbers("weights"),
            [[1], (0, 2.5), [1, np.float32(2)], np.array([0.0, 1.0]), np.arange(3)],
            [
                *([], [0, 0], [1, -1], [1, NAN], [INF, 1], [True, 1], ["1"], [[1]], [1, None]),
                *(1, "1", None, {1: 1}, range(3), np.ones((2, 2)), np.array(1.0), np.zeros(2)),
                *(np.array([NAN, 1]), np.array(["1"]), np.array([True]), np.empty(0)),
            ],
        ),
        (number(), [0, -1.5, np.float32(2)], [NAN, INF, -INF, "1", None, False, 1j]),
        (number(above=0), [1e-300, 3], [0, 0.0, -1, NAN, INF]),
        (number(at_least=0), [0, 0.0, 2], [-1e-300, NAN, INF]),
        (one_of("a", "b"), ["a", "b"], ["c", "", None, 1, ["a"]]),
        (instance(dict, "a dict"), [{}], [dict, [], None]),
        (FRACTION, [0.5, 1e-300, np.float32(0.1)], [0, 1, 0.0, 1.0, -0.5, NAN, INF, "0.5", None]),
        (NONE, [None], [0, "", False]),
        (BOOLEAN, [True, False, np.True_], [0, 1, None, "True"]),
        (N_JOBS, [None, 1, -1, np.int64(2)], [0, 1.0, "2", True]),
        (
            RANDOM_STATE,
            [None, 0, np.int64(7), np.random.default_rng(0), np.random.RandomState(0)],
            [-1, 0.5, "seed", np.random, True],
        ),
        (NONE | integer(2) | one_of("auto"), [None, 2, "auto"], [1, "other", 2.0]),
    ],
)
def test_what_a_rule_allows(rule, allowed, refused):
    assert all(rule.test(value) for value in allowed)
    assert not any(rule.test(value) for value in refused)


@pytest.mark.parametrize(
    ("rule", "wording"),
    [
        (integer(1), "an integer >= 1"),
        (integer(0, 2), "an integer from 0 to 2"),
        (numbers("weights >= 0"), "weights >= 0"),
        (number(), "a number"),
        (number(above=0), "a number > 0"),
        (number(at_least=0.5), "a number >= 0.5"),
        (one_of("a", "b"), "'a' or 'b'"),
        (FRACTION, "a number between 0 and 1"),
        (NONE | integer(0) | one_of("auto"), "None or an integer >= 0 or 'auto'"),
    ],
)
def test_how_a_rule_is_worded(rule, wording):
    assert rule.wording == wording


def test_the_shape_of_the_message():
    error = broken("Nystroem", "budget", "an integer >= 1", "many")
    assert isinstance(error, ValueError)
    assert str(error) == "Nystroem: budget must be an integer >= 1, got 'many'."


class Model(SimpleNamespace):
    rules = {"size": integer(1), "alpha": number(at_least=0)}  # noqa: RUF012


def test_check_params_accepts_what_keeps_the_rules():
    assert check_params(Model(size=1, alpha=0.0)) is None


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"size": 0, "alpha": 1}, "Model: size must be an integer >= 1, got 0."),
        ({"size": 1, "alpha": -1}, "Model: alpha must be a number >= 0, got -1."),
        ({"size": "x", "alpha": -1}, "Model: size must be an integer >= 1, got 'x'."),
    ],
)
def test_check_params_names_the_first_broken_rule(params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_params(Model(**params))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("auto", True),
        ("Auto", False),
        (None, False),
        (np.array(["auto", "auto"]), False),
        (3, False),
    ],
    ids=str,
)
def test_only_a_text_is_auto(value, expected):
    assert is_auto(value) is expected
