"""Ordered reduction over blocks on a thread pool; the result is bit-equal for any thread count."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from itertools import chain, islice
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from skimp._core._threads import single_threaded_blas
from skimp._core._types import Array, DType

B = TypeVar("B")
P = TypeVar("P")
T = TypeVar("T")


_BLOCK_BYTES = 2**24
_LARGEST_BLOCK, _SMALLEST_BLOCK = 2**11, 2**8
_QUIET = partial(np.errstate, over="ignore", invalid="ignore")
"""Silences NumPy's overflow warnings per block: callers check the reduced result instead."""


def block_rows_for(width: int, dtype: DType) -> int:
    """Return the rows of a block of at most 16 MB: a power of two between 256 and 2,048."""
    fitting = _BLOCK_BYTES // max(1, width * dtype.itemsize)
    return max(_SMALLEST_BLOCK, min(_LARGEST_BLOCK, 1 << max(0, fitting.bit_length() - 1)))


class Scratch(dict[str, Array]):
    """Named buffers that one worker reuses for all its blocks."""

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
        """Return an uninitialized array, which the next call with this name overwrites."""
        size = prod(shape)
        buffer = self.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self[name] = np.empty(size, dtype)
        return buffer[:size].reshape(shape)


def fold(
    blocks: Iterable[B],
    fn: Callable[[B, Scratch], P],
    combine: Callable[[T, P], T],
    initial: T,
    n_threads: int,
) -> T:
    """Compute ``total = combine(total, fn(block, scratch))`` over the blocks, in order.

    ``fn`` runs concurrently, with single-threaded BLAS. ``combine`` runs sequentially, in the order
    of the blocks, so that sums do not depend on the number of threads. ``fn`` may return views of
    its scratch buffers: a worker combines them before it starts its next block.
    """
    remaining = iter(blocks)
    first = list(islice(remaining, 2))
    blocks = chain(first, remaining)
    # starting threads takes longer than processing a single block
    if n_threads > 1 and len(first) > 1:
        with single_threaded_blas():
            return _threaded_fold(blocks, fn, combine, initial, n_threads)
    with single_threaded_blas(), _QUIET():
        scratch, total = Scratch(), initial
        for block in blocks:
            total = combine(total, fn(block, scratch))
        return total


def _threaded_fold(
    blocks: Iterable[B],
    fn: Callable[[B, Scratch], P],
    combine: Callable[[T, P], T],
    initial: T,
    n_threads: int,
) -> T:
    numbered = enumerate(blocks)
    reading = threading.Lock()
    turn = threading.Condition()
    state: dict[str, Any] = {"total": initial, "next": 0, "stopped": False}

    def stop() -> None:
        with turn:
            state["stopped"] = True
            turn.notify_all()

    @single_threaded_blas()
    @_QUIET()
    def work() -> None:
        scratch = Scratch()
        try:
            while not state["stopped"]:
                with reading:
                    numbered_block = next(numbered, None)
                if numbered_block is None:
                    return
                number, block = numbered_block
                part = fn(block, scratch)
                with turn:
                    while not state["stopped"] and state["next"] != number:
                        turn.wait()
                    if state["stopped"]:
                        return
                    state["total"] = combine(state["total"], part)
                    state["next"] = number + 1
                    turn.notify_all()
        except BaseException:
            stop()
            raise

    with ThreadPoolExecutor(n_threads, thread_name_prefix="skimp") as pool:
        try:
            for worker in [pool.submit(copy_context().run, work) for _ in range(n_threads)]:
                worker.result()
        except BaseException:
            stop()
            raise
    total: T = state["total"]
    return total
