import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from skimp.data import FileArray


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64, bool])
@pytest.mark.parametrize("shape", [(0, 3), (7, 3), (7,), (7, 0)])
def test_slices_are_those_of_an_array(dtype, shape):
    values = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    array, file = np.zeros(shape, dtype), FileArray(shape, dtype)
    assert len(file) == shape[0]
    assert file.nbytes == array.nbytes
    for part in (slice(5, 9), slice(0, 2), slice(2, 2), slice(9, 12)):
        array[part] = file[part] = values[part]
        for other in (part, slice(None), slice(1, 6)):
            found = file[other]
            assert found.dtype == dtype
            assert np.array_equal(found, array[other])
    assert np.array_equal(np.asarray(file), array)


def test_values_are_broadcast_and_converted():
    file = FileArray((4, 2), np.float32)
    file[1:3] = np.arange(2)
    assert file[:].tolist() == [[0, 0], [0, 1], [0, 1], [0, 0]]
    file[:] = 2
    assert (file[:] == 2).all()


def test_threads_do_not_disturb_each_other():
    file = FileArray((4000, 5), np.int64)

    def work(number):
        for start in range(number, 4000, 4):
            file[start : start + 1] = start
            assert (file[start : start + 1] == start).all()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(file[:], np.repeat(np.arange(4000), 5).reshape(-1, 5))


def test_nothing_is_left(folder):
    file = FileArray((1000, 10), np.float64)
    file[:] = 1
    assert not list(folder.iterdir())
    descriptors = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    del file
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) < len(descriptors)


KILLED = """
import numpy as np, sys, time
from skimp.data import FileArray
file = FileArray((1000, 10), np.float64)
file[:] = 1
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a signal of POSIX")
def test_nothing_is_left_after_a_kill(tmp_path):
    given = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.kill()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_found_before_writing(folder, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=79_999))
    with pytest.raises(OSError, match=r"80 KB does not fit .* 80 KB are free.* TMPDIR") as caught:
        FileArray((1000, 10), np.float64)
    assert str(folder) in str(caught.value)
    assert caught.value.errno == errno.ENOSPC
    assert not list(folder.iterdir())
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=80_000))
    FileArray((1000, 10), np.float64)


class FullFile:
    """A file on a disk that is full, or broken."""

    def __init__(self, error):
        self._error = error

    def seek(self, start):
        pass

    def write(self, values):
        raise self._error


def test_a_disk_that_becomes_full(folder):
    file = FileArray((1000, 10), np.float64)
    file._file = FullFile(OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(OSError, match=r"80 KB does not fit .*TMPDIR.*memory_limit"):
        file[2:3] = 1
    file._file = FullFile(OSError(errno.EIO, "broken"))
    with pytest.raises(OSError, match="broken"):
        file[2:3] = 1
