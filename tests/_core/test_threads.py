import os
import threading

import pytest
import scipy.linalg  # noqa: F401  (a second BLAS)
from threadpoolctl import threadpool_info

from skimp._core import _threads
from skimp._core._threads import single_threaded_blas, thread_count


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@pytest.fixture
def usual():
    """What BLAS uses at other times; more than one thread wherever there are two cores."""
    return blas_threads()


@pytest.mark.parametrize(
    ("n_jobs", "omp", "expected"),
    [
        (None, None, 8),
        (None, "3", 3),
        (None, "100", 8),
        (None, "nonsense", 8),
        (None, "0", 8),
        (5, "3", 5),
        (-1, None, 8),
        (-2, None, 7),
        (-2, "3", 2),
        (-100, None, 1),
    ],
)
def test_thread_count(monkeypatch, n_jobs, omp, expected):
    monkeypatch.setattr(_threads, "cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if omp is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", omp)
    assert thread_count(n_jobs) == expected


def test_blas_is_single_threaded_inside_and_as_before_outside(usual):
    with single_threaded_blas():
        assert blas_threads() == {1}
        with single_threaded_blas():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == usual


def test_blas_threads_come_back_after_an_exception(usual):
    with pytest.raises(RuntimeError, match="inside"), single_threaded_blas():
        raise RuntimeError("inside")
    assert blas_threads() == usual


def test_every_thread_can_hold_blas_whichever_did_so_first(usual):
    seen = []

    def hold():
        with single_threaded_blas():
            seen.append(blas_threads())
        seen.append(blas_threads())

    hold()
    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()
    hold()
    assert seen == [{1}, usual] * 3


@pytest.mark.parametrize("main_is_first", [True, False])
def test_overlapping_holders_in_two_threads_restore_the_original_number(usual, main_is_first):
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with single_threaded_blas():
            first_in.set()
            second_in.wait(20)
        first_out.set()

    def second():
        first_in.wait(20)
        with single_threaded_blas():
            second_in.set()
            first_out.wait(20)
            seen.append(blas_threads())
        seen.append(blas_threads())

    mine, other = (first, second) if main_is_first else (second, first)
    thread = threading.Thread(target=other)
    thread.start()
    mine()
    thread.join()
    assert seen == [{1}, usual]
    assert blas_threads() == usual


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_gets_its_threads_back_and_can_hold_them_again(usual):
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with single_threaded_blas():
            inside.set()
            leave.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(20)
    held = blas_threads()
    child = os.fork()
    if child == 0:
        restored = blas_threads() == usual
        with single_threaded_blas():
            limited = blas_threads() == {1}
        os._exit(0 if restored and limited and blas_threads() == usual else 1)
    _, status = os.waitpid(child, 0)
    leave.set()
    holder.join()
    assert held == {1}
    assert os.waitstatus_to_exitcode(status) == 0
    assert blas_threads() == usual
