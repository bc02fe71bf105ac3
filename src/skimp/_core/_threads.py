"""How many threads to use, and BLAS held to one thread inside each of them."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import cpu_count


def thread_count(n_jobs: int | None) -> int:
    """Return the number of row-block workers that ``n_jobs`` stands for.

    ``None`` means every core that this process may use: its affinity and container limits, and no
    more than ``OMP_NUM_THREADS``, which process pools such as loky set for their workers.
    Negative numbers count back from there, as in scikit-learn.
    """
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    cores = int(cpu_count())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        cores = min(cores, int(limit))
    return max(1, cores if n_jobs is None else cores + 1 + n_jobs)


class _BlasLimit:
    """One shared limit with a count of who needs it.

    Overlapping ``threadpool_limits`` contexts restore each other's limit instead of the original
    one and leave the process at one BLAS thread for good. Here the first caller in sets the limit
    of the process, from whatever thread, and the last one out restores it. A BLAS on OpenMP has a
    limit for each thread instead: every holder sets and restores its own.
    """

    def __init__(self) -> None:
        self._libraries: list[Any] = []
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._usual: list[int] = []

    def reset_after_fork(self) -> None:
        """Give a forked child its threads back: the holders did not come along."""
        usual = self._usual
        self._forget()
        self._set(usual)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep BLAS single-threaded while any caller is inside."""
        with self._lock:
            if self._holders == 0:
                self._usual = [library.num_threads for library in self._find()]
                self._set([1] * len(self._usual))
            self._holders += 1
        own = [library for library in self._libraries if _has_limit_per_thread(library)]
        usual = [library.num_threads for library in own]
        for library in own:
            library.set_num_threads(1)
        try:
            yield
        finally:
            for library, number in zip(own, usual, strict=True):
                library.set_num_threads(number)
            with self._lock:
                # a child that was forked inside has forgotten that it holds
                self._holders = max(0, self._holders - 1)
                if self._holders == 0:
                    self._set(self._usual)
                    self._usual = []

    def _find(self) -> list[Any]:
        if not self._libraries:
            import scipy.linalg  # noqa: F401  (loads SciPy's BLAS before the libraries are listed)
            from threadpoolctl import ThreadpoolController

            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        return self._libraries

    def _set(self, numbers: list[int]) -> None:
        for library, number in zip(self._libraries, numbers, strict=False):
            if _has_limit_per_thread(library):
                continue
            # newer versions of threadpoolctl ignore all threads but the one that came first
            take_over = getattr(library, "clear_controlling_thread", lambda force: None)
            take_over(force=True)
            library.set_num_threads(number)
            take_over(force=True)


def _has_limit_per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


_limit = _BlasLimit()
_process = os.getpid()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.reset_after_fork)

single_threaded_blas = _limit.hold


@contextmanager
def openmp_after_fork() -> Iterator[None]:
    """Keep OpenMP to one thread in a forked child, which has no others and waits for them."""
    if os.getpid() == _process:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield
