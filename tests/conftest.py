"""One Numba cache for all workers, subprocesses and later runs on the same sources.

Numba checks the file of a cached function, not the files of the functions that it calls. The
folder is therefore named by a hash of all compiled loops.
"""

import os
import shutil
import sys
from hashlib import sha256
from importlib.metadata import version

from tests.repository import PACKAGE, ROOT

_CACHES = ROOT / ".pytest_cache" / "numba"


def _key():
    """Return a hash of the compiled loops and of the versions that compile them."""
    loops = b"".join(path.read_bytes() for path in sorted(PACKAGE.glob("_core/loops/*.py")))
    return sha256(loops + f"{version('numba')} {sys.version}".encode()).hexdigest()[:16]


# Numba reads the variable when it is imported, which no test module has done yet
_CACHE = _CACHES / _key()
os.environ["NUMBA_CACHE_DIR"] = str(_CACHE)


def pytest_sessionstart(session):
    """Delete the caches of other sources."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for folder in _CACHES.glob("*"):
            if folder != _CACHE:
                shutil.rmtree(folder, ignore_errors=True)
