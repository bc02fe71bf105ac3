from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from skimp._core._blocks import fold
from skimp._core._tally import Tally, count, counted


def test_numbers_are_added_up_inside():
    with counted() as tally:
        count(3)
        count(4)
        assert tally.count == 7
    count(5)
    assert tally.count == 7


def test_nobody_asked():
    with counted() as before:
        pass
    count(5)
    with counted() as after:
        pass
    assert (before.count, after.count) == (0, 0)


def test_each_has_its_own_count():
    with counted() as first:
        count(1)
    with counted() as second:
        count(10)
    assert (first.count, second.count) == (1, 10)


def test_counting_goes_on_around_an_inner_count():
    with counted() as outer:
        count(1)
        with counted() as inner:
            count(10)
        count(2)
        assert inner.count == 10
        before = outer.count
        count(4)
        assert outer.count == before + 4


def test_it_ends_with_an_error():
    def fail():
        count(2)
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"), counted() as tally:
        fail()
    count(3)
    assert tally.count == 2


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_threads_of_a_fold_add_to_it(n_threads):
    with counted() as tally:
        fold(range(200), lambda block, _: count(block), lambda total, _: total, None, n_threads)
    assert tally.count == 199 * 200 // 2


def test_threads_do_not_lose_what_others_add():
    tally, together = Tally(), Barrier(4)

    def add(_):
        together.wait()
        for _ in range(5000):
            tally.add(1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert tally.count == 20_000


def test_other_threads_have_counts_of_their_own():
    together = Barrier(2)

    def own(number):
        with counted() as tally:
            together.wait()
            count(number)
            together.wait()
            return tally.count

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(own, (3, 5))) == [3, 5]
