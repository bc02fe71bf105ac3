"""Tests of the PyTorch layers: `make test-torch` runs them, on one thread."""

from importlib.util import find_spec
from pathlib import Path

import pytest

_TORCH = find_spec("torch") is not None
collect_ignore_glob = [] if _TORCH else ["test_*.py"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("torch")


@pytest.fixture(autouse=True)
def _one_thread():
    import torch

    torch.set_num_threads(1)
