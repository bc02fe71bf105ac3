"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to, which is renamed at the end of the block.

    If the block raises, ``path`` is as it was before and nothing is left beside it. The file is
    flushed to the disk before it is renamed, so a crash leaves the old file or the new one.
    """
    target = Path(path).resolve()
    if target.is_dir():
        raise IsADirectoryError(f"path must name a file, found the folder {str(target)!r}.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path must be in an existing folder, found {str(target)!r}: create "
            f"{str(target.parent)!r} first."
        )
    aside = target.with_name(f".{target.name}.{token_hex(8)}")
    try:
        aside.touch(exist_ok=False)
        yield aside
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            aside.chmod(target.stat().st_mode & 0o777)
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
