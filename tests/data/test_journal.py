from dataclasses import dataclass
from operator import add

import numpy as np
import pytest

from skimp.data import Checkpoint, Context, FileArray, Rows, open_rows

X = np.arange(100.0)[:, None]


def context(folder, every=1e-9, parts=("data",)):
    """Return a context with the journal of a folder; everything is stored at once."""
    checkpoint = Checkpoint(folder / "fit", every=every)
    return Context(2, journal=checkpoint.open("Model", dict.fromkeys(parts, "0"), seed=3))


@dataclass(frozen=True)
class Total:
    sums: np.ndarray
    count: int


def total_of(context, rows, seen, stop=None):
    """Sum the rows, and raise when the total has this many blocks."""

    def combine(total, part):
        if total.count == stop:
            raise KeyboardInterrupt
        return Total(total.sums / 3 + part, total.count + 1)

    def of_block(block, _):
        seen.append(block.start)
        return block.X.sum(axis=0)

    return context.map_reduce(rows, of_block, combine, Total(np.zeros(1), 0), record="sums")


@pytest.mark.parametrize("stop", [0, 1, 5, 9])
def test_a_pass_continues_where_it_was_interrupted(tmp_path, stop):
    rows, seen = open_rows(X, block_rows=10), []
    expected = total_of(Context(), rows, [])
    with pytest.raises(KeyboardInterrupt):
        total_of(context(tmp_path), rows, [], stop)
    found = total_of(context(tmp_path), rows, seen)
    assert min(seen) == 10 * stop
    np.testing.assert_array_equal(found.sums, expected.sums)
    seen.clear()
    assert total_of(context(tmp_path), rows, seen).count == 10
    assert seen == []


def test_passes_are_numbered(tmp_path):
    for _ in range(2):
        run, totals = context(tmp_path), []
        for factor in (1, 2):
            rows = open_rows(factor * X, block_rows=30)
            found = run.map_reduce(rows, lambda b, _: b.X.sum(), add, 0.0, record="sum")
            totals.append(found)
        assert totals == [4950, 9900]


def test_the_number_of_rows_is_known_after_a_stored_pass(tmp_path):
    def source():
        return [pa.table({"x": X[:, 0]})]

    pa = pytest.importorskip("pyarrow")
    for _ in range(2):
        rows = open_rows(source)
        context(tmp_path).map_reduce(rows, lambda b, _: b.size, add, 0, record="n")
        assert rows.known_n_rows == 100


def test_steps_that_run_once(tmp_path):
    def draw(rng):
        rng.normal(size=3)
        return {"numbers": rng.normal(size=2), "about": [1, "a", None]}

    drawn, rest = [], []
    for _ in range(2):
        rng = np.random.default_rng(0)
        found = context(tmp_path).once("draw", lambda rng=rng: drawn.append(1) or draw(rng), rng)
        assert found["about"] == [1, "a", None]
        rest.append([found["numbers"], rng.normal()])
    assert drawn == [1]
    np.testing.assert_array_equal(rest[0][0], rest[1][0])
    assert rest[0][1] == rest[1][1]


def test_steps_within_a_step_are_not_stored(tmp_path):
    rows = open_rows(X, block_rows=10)
    for _ in range(2):
        run = context(tmp_path)
        run.once("outer", lambda run=run: {"n": total_of(run, rows, []).count})
        assert total_of(run, rows, []).count == 10
    assert len(list((tmp_path / "fit").glob("0*"))) == 2


def test_what_a_file_cannot_hold_is_computed_again(tmp_path):
    calls = []
    for _ in range(2):
        found = context(tmp_path).once("objects", lambda: calls.append(1) or {"f": len})
        assert found["f"] is len
    assert len(calls) == 2


def test_brief_steps_are_not_stored(tmp_path):
    total_of(context(tmp_path, every=1e6), open_rows(X, block_rows=10), [])
    assert [path.name for path in (tmp_path / "fit").iterdir()] == ["head.skimp"]


def test_loops(tmp_path):
    with context(tmp_path).resumable("sweeps") as loop:
        assert loop.take() is None
        loop.keep(lambda: {"v": np.arange(3), "sweeps": 7})
    with context(tmp_path).resumable("sweeps") as loop:
        state = loop.take()
        assert loop.state is None
    assert state["sweeps"] == 7
    np.testing.assert_array_equal(state["v"], np.arange(3))


def test_arrays_in_files_are_stored_in_parts(tmp_path):
    slopes = FileArray((100_000, 2), np.float64)
    slopes[70_000:70_001] = 3.0
    with context(tmp_path).resumable("sweeps") as loop:
        loop.keep(lambda: {"slopes": slopes})
    with context(tmp_path).resumable("sweeps") as loop:
        found = loop.take()["slopes"]
    np.testing.assert_array_equal(found, slopes[:])


def test_loops_are_stored_at_intervals(tmp_path):
    for run in (context(tmp_path, every=1e6), Context()):
        with run.resumable("sweeps") as loop:
            loop.keep(lambda: pytest.fail("too early, or there is no journal"))


def test_passes_within_a_loop_are_not_stored(tmp_path):
    rows = open_rows(X, block_rows=10)
    for _ in range(2):
        run = context(tmp_path)
        with run.resumable("sweeps") as loop:
            if loop.take() is None:  # more passes than a run that continues
                total_of(run, rows, [])
            loop.keep(lambda: {"sweeps": 1})
        assert run.once("after", lambda: {"a": 1}) == {"a": 1}
    assert len(list((tmp_path / "fit").glob("0*"))) == 2


def test_only_files_of_a_checkpoint_are_removed(tmp_path):
    first = context(tmp_path)
    first.once("x", lambda: {"a": 1})
    first.journal.finish()
    for name in ("model.txt", ".gitignore"):
        (tmp_path / "fit" / name).touch()
    context(tmp_path, parts=["other"])
    found = sorted(path.name for path in (tmp_path / "fit").iterdir())
    assert found == [".gitignore", "head.skimp", "model.txt"]


class Closing(Rows):
    """Rows that note when their reader is closed."""

    def __init__(self):
        self.describe(open_rows(X, block_rows=10))
        self.closed = 0

    def read(self, block_rows):
        try:
            yield from open_rows(X).reblocked(block_rows).blocks()
        finally:
            self.closed += 1


def test_a_failed_pass_closes_its_source():
    rows = Closing()
    with pytest.raises(KeyboardInterrupt) as error:
        total_of(Context(2), rows, [], stop=2)
    # the traceback holds the frames of the pass
    assert error.traceback
    assert rows.closed == 1


def test_another_fit_is_refused_until_the_first_is_complete(tmp_path):
    first = context(tmp_path, parts=["data", "alpha"])
    first.once("x", lambda: {"a": 1})
    with pytest.raises(ValueError, match="belongs to an unfinished fit with other gamma: pass"):
        context(tmp_path, parts=["data", "alpha", "gamma"])
    first.journal.finish()
    assert context(tmp_path, parts=["data", "alpha"]).once("x", dict) == {"a": 1}
    assert context(tmp_path, parts=["data"]).once("x", dict) == {}


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit" / "thesis.tex").touch()
    with pytest.raises(ValueError, match="must be a new or empty folder"):
        context(tmp_path)
    assert (tmp_path / "fit" / "thesis.tex").exists()


def test_the_seed_is_that_of_the_first_run(tmp_path):
    assert context(tmp_path).journal.seed == 3
    again = Checkpoint(tmp_path / "fit").open("Model", {"data": "0"}, seed=4)
    assert again.seed == 3


def test_damaged_and_unfinished_files(tmp_path):
    rows = open_rows(X, block_rows=10)
    total_of(context(tmp_path), rows, [])
    (tmp_path / "fit" / ".00001.skimp.0123456789abcdef").touch()
    path = tmp_path / "fit" / "00001.skimp"
    path.write_bytes(path.read_bytes()[:50])
    run = context(tmp_path)
    assert not list((tmp_path / "fit").glob(".*"))
    with pytest.raises(ValueError, match=r"00001.skimp' is not a checkpoint of skimp, or is damag"):
        total_of(run, rows, [])


def test_a_step_of_another_program(tmp_path):
    context(tmp_path).once("x", lambda: {"a": 1})
    with pytest.raises(ValueError, match="must hold the step 'y', found 'x'"):
        context(tmp_path).once("y", dict)


@pytest.mark.parametrize("every", [0, -1.0, "1"])
def test_the_interval_must_be_positive(tmp_path, every):
    with pytest.raises(ValueError, match="Checkpoint: every must be a number > 0"):
        context(tmp_path, every=every)
