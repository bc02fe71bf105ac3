import signal
import threading
import time
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from skimp._core._blocks import Scratch, fold
from tests.pairs import pairwise


def within(seconds, fn):
    """Call fn in a thread; fail rather than hang."""
    outcome = []

    def call():
        try:
            outcome.append(fn())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "the call hangs"
    return outcome[0]


def append(total, part):
    return [*total, part]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_fold_combines_in_the_order_of_the_blocks(n_threads):
    def slow_first(block, _):
        time.sleep(0.002 * (block % 3 == 0))
        return block

    assert fold(iter(range(30)), slow_first, append, [], n_threads) == list(range(30))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_fold_over_nothing_is_the_initial_value(n_threads):
    assert fold([], lambda block, _: block, append, ["initial"], n_threads) == ["initial"]


def test_fold_sums_have_the_same_bits_for_any_number_of_threads():
    blocks = np.random.default_rng(0).normal(size=(200, 50)).astype(np.float32)
    blocks *= np.logspace(-4, 4, 200, dtype=np.float32)[:, None]
    sums = [fold(blocks, lambda block, _: block.sum(), np.add, np.float32(0), n) for n in (1, 2, 7)]
    assert sums[0] == sums[1] == sums[2]


def test_fold_uses_several_threads_at_once():
    meeting = threading.Barrier(3, timeout=20)
    assert fold(range(3), lambda block, _: meeting.wait() >= 0, append, [], 3) == [True] * 3


@pytest.mark.parametrize("n_threads", [1, 2])
def test_fold_holds_blas_to_one_thread(n_threads):
    def blas_threads(_, __):
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    assert fold(range(4), blas_threads, append, [], n_threads) == [{1}] * 4


@pairwise(
    n_threads=[1, 2, 4],
    error=[ValueError, MemoryError, KeyboardInterrupt, SystemExit],
    where=["fn", "combine", "blocks"],
)
def test_fold_passes_an_exception_on_and_stops(n_threads, error, where):
    read = []

    def fail_at(value, place):
        if place == where and value == 5:
            raise error("block 5")
        return value

    def blocks():
        for number in range(1000):
            read.append(number)
            yield fail_at(number, "blocks")

    def fn(block, _):
        return fail_at(block, "fn")

    def combine(total, part):
        return append(total, fail_at(part, "combine"))

    outcome = within(20, partial(fold, blocks(), fn, combine, [], n_threads))
    assert isinstance(outcome, error)
    assert str(outcome) == "block 5"
    assert len(read) < 100


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_no_thread_waits_for_the_turn_of_one_that_failed(n_threads, failing):
    meeting = threading.Barrier(n_threads, timeout=20)

    def fail_together(block, _):
        if block < n_threads:
            meeting.wait()
        if block == failing:
            time.sleep(0.05)
            raise ValueError("failed")

    outcome = within(20, partial(fold, range(50), fail_together, append, [], n_threads))
    assert isinstance(outcome, ValueError)


def test_fold_stops_when_the_main_thread_is_interrupted():
    done = []

    def interrupt_at_five(block, _):
        if block == 5:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.002)
        done.append(block)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fold(range(5000), interrupt_at_five, lambda total, _: total, None, 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(done) < 4000


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_part_in_scratch_memory_is_intact_when_it_is_combined(n_threads):
    def fill(block, scratch):
        part = scratch.array("part", (1000,), np.float64)
        part[:] = block
        return part

    totals = fold(range(60), fill, lambda total, part: [*total, set(part)], [], n_threads)
    assert totals == [{block} for block in range(60)]


def test_scratch_reuses_memory_for_smaller_shapes():
    scratch = Scratch()
    first = scratch.array("Z", (4, 6), np.float32)
    smaller = scratch.array("Z", (3, 5), np.float32)
    assert smaller.shape == (3, 5)
    assert smaller.flags.c_contiguous
    assert np.shares_memory(first, smaller)
    assert np.shares_memory(first, scratch.array("Z", (24,), np.float32))


@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [("other", (4, 6), np.float32), ("Z", (5, 6), np.float32), ("Z", (4, 6), np.float64)],
)
def test_scratch_keeps_names_sizes_and_dtypes_apart(name, shape, dtype):
    scratch = Scratch()
    first = scratch.array("Z", (4, 6), np.float32)
    second = scratch.array(name, shape, dtype)
    assert second.shape == shape
    assert second.dtype == dtype
    assert not np.shares_memory(first, second)
