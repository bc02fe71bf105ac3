"""The number of worker threads, and a limit of one BLAS thread inside each worker."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from joblib import cpu_count


def thread_count(n_jobs: int | None) -> int:
    """Return the number of worker threads for ``n_jobs``.

    ``None`` uses every core available to this process. It respects CPU affinity, container limits
    and ``OMP_NUM_THREADS``, which process pools such as loky set for their workers. Negative
    numbers count back from all cores, as in scikit-learn: -2 uses all but one.
    """
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    cores = int(cpu_count())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    if limit.isdigit() and int(limit) > 0:
        cores = min(cores, int(limit))
    return max(1, cores if n_jobs is None else cores + 1 + n_jobs)


class _BlasLimit:
    """A process-wide BLAS thread limit with a reference count.

    Overlapping ``threadpool_limits`` contexts restore each other's limit instead of the original
    one, which can leave the process at one BLAS thread for good. Here the first holder sets the
    limit and the last one restores it, from any thread. A BLAS built on OpenMP has one limit per
    thread instead, so each holder sets and restores its own.
    """

    def __init__(self) -> None:
        self._libraries: list[Any] | None = None
        self._own: list[Any] = []
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._usual: list[int] = []

    def reset_after_fork(self) -> None:
        """Restore the limit in a forked child, which does not inherit the holders' threads."""
        usual = self._usual
        self._forget()
        self._set(usual)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep BLAS single-threaded while at least one caller is inside."""
        with self._lock:
            if self._holders == 0:
                if self._libraries is None:
                    self._find()
                self._usual = [library.num_threads for library in self._libraries or ()]
                self._set([1] * len(self._usual))
            self._holders += 1
        usual = [library.num_threads for library in self._own]
        for library in self._own:
            library.set_num_threads(1)
        try:
            yield
        finally:
            for library, number in zip(self._own, usual, strict=True):
                library.set_num_threads(number)
            with self._lock:
                # the count is already 0 in a child that was forked inside this block
                self._holders = max(0, self._holders - 1)
                if self._holders == 0:
                    self._set(self._usual)
                    self._usual = []

    def _find(self) -> None:
        """Find the BLAS libraries, and separate those with per-thread limits (OpenMP)."""
        import scipy.linalg  # noqa: F401  (loads SciPy's BLAS before the libraries are listed)
        from threadpoolctl import ThreadpoolController

        found = ThreadpoolController().select(user_api="blas").lib_controllers
        self._own = [lib for lib in found if getattr(lib, "threading_layer", None) == "openmp"]
        self._libraries = [lib for lib in found if lib not in self._own]

    def _set(self, numbers: list[int]) -> None:
        for library, number in zip(self._libraries or (), numbers, strict=False):
            # newer versions of threadpoolctl only obey the thread that set the limit first
            take_over = getattr(library, "clear_controlling_thread", lambda force: None)
            take_over(force=True)
            library.set_num_threads(number)
            take_over(force=True)


_limit = _BlasLimit()
_process = os.getpid()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.reset_after_fork)

single_threaded_blas = _limit.hold


@contextmanager
def openmp_after_fork() -> Iterator[None]:
    """Limit OpenMP to one thread in a forked child, which would wait for threads it lacks."""
    if os.getpid() == _process:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield
