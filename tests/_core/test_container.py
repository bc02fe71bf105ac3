import json
import pickle
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from skimp._core._container import UnstorableError, read_container, write_container

DTYPES = st.one_of(
    hnp.boolean_dtypes(), hnp.integer_dtypes(), hnp.floating_dtypes(), hnp.unicode_string_dtypes()
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=5), inner, max_size=3),
    ),
    max_leaves=8,
)


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b or a != a


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_a_tree_comes_back(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("trees") / "tree"
    write_container(path, "test", tree)
    assert same(read_container(path, "test"), tree)


def test_layout_scalars_and_sparse_matrices(tmp_path):
    F = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    X = sparse.random(5, 4, 0.5, format="csr", random_state=0)
    write_container(tmp_path / "f", "test", {"F": F, "x": np.float32(0.1), "X": X})
    found = read_container(tmp_path / "f", "test")
    assert found["F"].flags.f_contiguous
    assert found["F"].flags.writeable
    assert isinstance(found["x"], np.float32)
    assert (found["X"] != X).nnz == 0


def test_equal_trees_give_equal_files(tmp_path):
    for name in "ab":
        write_container(tmp_path / name, "test", [np.arange(3), {"a": 1.5}])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("value", [len, object(), {1: 2}, np.array([None]), {1, 2}, b"bytes"])
def test_values_that_are_refused(tmp_path, value):
    with pytest.raises(UnstorableError, match="a file cannot hold"):
        write_container(tmp_path / "f", "test", [value])
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def path(tmp_path):
    write_container(tmp_path / "f", "test", {"a": np.arange(100), "b": [1, 2]})
    return tmp_path / "f"


def test_another_kind(path):
    with pytest.raises(
        ValueError, match="is not a model of skimp, or is damaged: its kind is 'test'"
    ):
        read_container(path, "model")


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_truncated_files(path, kept):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(ValueError, match="is damaged"):
        read_container(path, "test")


def test_no_changed_byte_gives_another_tree(path):
    whole, expected = path.read_bytes(), read_container(path, "test")
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        path.write_bytes(changed)
        with suppress(ValueError):
            assert same(read_container(path, "test"), expected)


class Evil:
    def __reduce__(self):
        return pytest.fail, ("a pickle was executed",)


def test_pickles_are_refused(tmp_path):
    (tmp_path / "p").write_bytes(pickle.dumps(Evil()))
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        head = {"format": "skimp", "version": 1, "kind": "test", "tree": {"array": 0}}
        archive.writestr("tree.json", json.dumps(head))
        with archive.open("0.npy", "w") as member:
            np.lib.format.write_array(member, np.array([Evil()], object), allow_pickle=True)
    for name in "pz":
        with pytest.raises(ValueError, match="is damaged"):
            read_container(tmp_path / name, "test")


def test_columns_of_sparse_matrices_are_checked(tmp_path):
    X = sparse.csr_matrix(np.eye(3))
    X.indices[1] = 10**6
    write_container(tmp_path / "f", "test", X)
    with pytest.raises(ValueError, match="is damaged"):
        read_container(tmp_path / "f", "test")


def test_compressed_and_oversized_members_are_refused(tmp_path):
    head = {"format": "skimp", "version": 1, "kind": "test", "tree": {"array": 0}}
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tree.json", json.dumps(head))
        archive.writestr("0.npy", bytes(10**6))
    with pytest.raises(ValueError, match="must not be compressed"):
        read_container(tmp_path / "bomb", "test")
    with zipfile.ZipFile(tmp_path / "huge", "w") as archive:
        archive.writestr("tree.json", json.dumps(head))
        with archive.open("0.npy", "w") as member:
            about = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
            np.lib.format.write_array_header_1_0(member, about)
    with pytest.raises(ValueError, match="must fill its member"):
        read_container(tmp_path / "huge", "test")
