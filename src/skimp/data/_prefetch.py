"""Reading ahead in another thread."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def prefetched(items: Generator[T, None, None]) -> Iterator[T]:
    """Yield the items, while a thread computes the next one.

    An error of the items is raised after those before it. At most one item waits.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="skimp-read")
    end = object()
    try:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        items.close()
