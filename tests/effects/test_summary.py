import numpy as np
from scipy import stats

from skimp.effects import Expectation
from skimp.effects._summary import _weighted_quartiles, summarize

POINTWISE = np.random.default_rng(0).normal(2, 1, size=(50, 3, 2))
COVARIANCE = np.stack([np.diag([0.01, 0.04, 0.0]), np.diag([0.09, 0.16, 0.25])])


def summary(corrected=None, weight=None, notes=()):
    return summarize(
        POINTWISE,
        np.ones(50) if weight is None else weight,
        COVARIANCE,
        corrected,
        names=["a", "b", "c"],
        kinds=["derivative", "from 0 to 1", "constant"],
        freedom=20.0,
        level=0.9,
        facts={"rows": "50", "a long name of a fact": "x" * 90, "alpha": "1"},
        notes=list(notes),
    )


def test_every_output_has_its_effects():
    found = summary()
    assert found.names == ("y0: a", "y0: b", "y0: c", "y1: a", "y1: b", "y1: c")
    means = POINTWISE.mean(axis=0)
    assert np.allclose(found.effect, means.T.ravel())
    assert np.array_equal(found.mean, found.effect)
    assert np.allclose(found.std_error, [0.1, 0.2, 0.0, 0.3, 0.4, 0.5])
    assert np.allclose(found.t[:2], means[:2, 0] / [0.1, 0.2])
    assert np.isnan([found.t[2], found.p[2]]).all()
    assert np.allclose(found.p[3:], 2 * stats.t.sf(np.abs(found.t[3:]), 20))
    reach = stats.t.ppf(0.95, 20) * found.std_error
    assert np.allclose(found.ci_high - found.effect, reach)
    assert np.allclose(found.q50, np.median(POINTWISE, axis=0).T.ravel())
    assert np.array_equal(found.pointwise[:, 4], POINTWISE[:, 1, 1])


def test_means_outside_the_intervals_are_counted():
    corrected = POINTWISE.mean(axis=0).copy()
    assert "outside" not in str(summary(corrected))
    corrected[1] += 1.0
    assert "2 of 5 means are outside the intervals" in str(summary(corrected))


def test_weights_count_rows():
    weight = np.arange(50) % 4
    repeated = np.repeat(POINTWISE, weight, axis=0)
    found = summary(weight=weight.astype(float))
    assert np.allclose(found.effect, repeated.mean(axis=0).T.ravel())
    lower = np.quantile(repeated, 0.25, axis=0, method="inverted_cdf")
    assert np.allclose(found.q25, lower.T.ravel())
    assert np.allclose(
        _weighted_quartiles(POINTWISE[:, 0], np.full(50, 3.0)),
        np.quantile(POINTWISE[:, 0], [0.25, 0.5, 0.75], axis=0),
    )


def test_tables_are_aligned_and_say_what_to_keep_in_mind():
    lines = str(summary(notes=["Mind the gap."])).split("\n")
    rules = [line for line in lines if set(line) == {"-"}]
    assert len(rules) == 3
    assert len({len(line) for line in lines[lines.index(rules[0]) : -1]}) == 1
    assert lines[-1] == "Mind the gap."
    assert any(line.startswith("y1: b (from 0 to 1)") for line in lines)
    html = summary(notes=["Mind the gap."])._repr_html_()
    assert "Mind the gap." in html
    assert "y0: c (constant)" in html


def test_expectations_are_frames_by_value():
    values, mean = np.array(["x", "y"], dtype=object), np.arange(4.0).reshape(2, 2)
    frame = Expectation("mean", values, mean, mean, mean, mean, 0.95).to_frame()
    assert frame.index.tolist() == ["x", "x", "y", "y"]
    assert frame["mean"].tolist() == [0, 1, 2, 3]
    assert frame["output"].tolist() == [0, 1, 0, 1]
