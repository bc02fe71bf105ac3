import pytest

from skimp.report import Measurement, Tradeoff, draw_tradeoffs, duration

PNG = b"\x89PNG\r\n\x1a\n"


def model(family, rows, accuracy, seconds, budget=None, ceiling=None):
    return Measurement(family, rows, budget, accuracy, seconds, 0.1, ceiling=ceiling)


TRADEOFF = Tradeoff(
    "Rows",
    100_000,
    [
        model("linear", 100_000, 0.60, 0.1, ceiling=0.9),
        model("exact", 1_000, 0.75, 0.5),
        model("exact", 10_000, 0.82, 50.0),
        model("budgeted", 100_000, 0.80, 1.0, budget=100),
        model("budgeted", 100_000, 0.82, 9.0, budget=1_000),
    ],
)


def test_best_is_the_fastest_that_is_close():
    assert TRADEOFF.best(0.03).budget == 100
    assert TRADEOFF.best(0.01).budget == 1_000
    assert TRADEOFF.best(1.0).family == "linear"


def test_families_keep_their_order():
    assert {name: len(models) for name, models in TRADEOFF.families().items()} == {
        "linear": 1,
        "exact": 2,
        "budgeted": 2,
    }


def test_extrapolation_continues_the_power_law():
    assert TRADEOFF.extrapolated("exact") == pytest.approx(5_000)


@pytest.mark.parametrize("family", ["linear", "budgeted"])
def test_nothing_to_extrapolate(family):
    assert TRADEOFF.extrapolated(family) is None


def test_labels():
    assert [m.label for m in TRADEOFF.models[2:4]] == ["10,000 rows", "budget 100"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(42.4, "42 seconds"), (840, "14 minutes"), (9_000, "2.5 hours")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_plot_is_a_whole_png(tmp_path):
    path = tmp_path / "plot.png"
    path.write_text("replaced")
    draw_tradeoffs([TRADEOFF] * 2, path, caption="2 cores")
    assert path.read_bytes().startswith(PNG)
    assert path.read_bytes().endswith(b"IEND\xaeB`\x82")
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def write_half(figure, path, **_):
        path.write_bytes(PNG)
        raise OSError("no space left on device")

    monkeypatch.setattr(Figure, "savefig", write_half)
    path = tmp_path / "plot.png"
    path.write_text("old")
    with pytest.raises(OSError, match="no space"):
        draw_tradeoffs([TRADEOFF], path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_styles_are_not_left_behind(tmp_path):
    from matplotlib import rcParams

    before = dict(rcParams)
    draw_tradeoffs([TRADEOFF], tmp_path / "plot.png")
    assert dict(rcParams) == before
