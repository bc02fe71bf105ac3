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
    one and leave the process at one BLAS thread for good. The first caller in sets the limit, the
    last one out restores it.
    """

    def __init__(self) -> None:
        self._controller: Any = None
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limiter: Any = None

    def reset_after_fork(self) -> None:
        """Give a forked child its threads back: the holders did not come along."""
        limiter = self._limiter
        self._forget()
        if limiter is not None:
            limiter.restore_original_limits()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep BLAS single-threaded while any caller is inside."""
        with self._lock:
            if self._holders == 0:
                self._limiter = self._libraries().limit(limits=1, user_api="blas")
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0:
                    self._limiter.restore_original_limits()
                    self._limiter = None

    def _libraries(self) -> Any:
        if self._controller is None:
            import scipy.linalg  # noqa: F401  (loads SciPy's BLAS before the libraries are listed)
            from threadpoolctl import ThreadpoolController

            self._controller = ThreadpoolController()
        return self._controller


_limit = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.reset_after_fork)

single_threaded_blas = _limit.hold
