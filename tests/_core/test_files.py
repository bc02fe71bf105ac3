import pytest

from skimp._core._files import written_aside


def test_a_file_appears_at_the_end(tmp_path):
    path = tmp_path / "new"
    with written_aside(path) as aside:
        aside.write_bytes(b"1")
        assert not path.exists()
    assert path.read_bytes() == b"1"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "old"
    path.write_bytes(b"old")

    def write_half():
        with written_aside(path) as aside:
            aside.write_bytes(b"half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_a_plain_file(tmp_path):
    plain, path = tmp_path / "plain", tmp_path / "aside"
    plain.touch()
    with written_aside(path):
        pass
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("name", ["", "missing/file"])
def test_paths_that_cannot_be_written(tmp_path, name):
    with pytest.raises(OSError, match="path must"), written_aside(tmp_path / name):
        pass
