import pytest

from skimp.diagnostics._worth import PATIENCE, WORTH, price


def test_price_is_proportional_to_the_error():
    assert price(0.6, 7.0) == pytest.approx(3 * price(0.2, 7.0))
    assert price(0.0, 7.0) == 0


def test_a_few_seconds_cost_little():
    assert price(1.0, 1.0) < 1.02 * price(1.0, 0.0)


@pytest.mark.parametrize(("less", "worth"), [(0.12, False), (0.14, True)])
def test_twice_a_long_time_has_to_buy_an_eighth_of_the_error(less, worth):
    assert (price(1 - less, 2e6) < price(1.0, 1e6)) is worth


def test_price_is_its_formula():
    assert price(0.5, 17.0) == pytest.approx(0.5 * (17.0 + PATIENCE) ** WORTH)
    assert price(0.5, 17.0) == pytest.approx(0.5 * 32.0**0.2)
    assert price(0.5, 17.0) == pytest.approx(1.0)
