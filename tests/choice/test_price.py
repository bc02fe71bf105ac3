import pytest

from skimp.choice._search import price

MANY = 10**6


def test_a_few_seconds_cost_little():
    assert price(1.0, 1.0, MANY) < 1.02 * price(1.0, 0.0, MANY)


@pytest.mark.parametrize(("less", "worth"), [(0.12, False), (0.14, True)])
def test_twice_a_long_time_has_to_buy_an_eighth_of_the_error(less, worth):
    assert (price(1 - less, 2e6, MANY) < price(1.0, 1e6, MANY)) is worth


def test_few_rows_have_less_patience():
    dearer = [price(1.0, 1.0, n) / price(1.0, 0.0, n) for n in (100, 1000, 5000, MANY)]
    assert dearer == sorted(dearer, reverse=True)
    assert dearer[0] > 1.05 * dearer[-1]
