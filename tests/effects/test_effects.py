import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from skimp import KRLS
from skimp.effects import EffectsSummary
from skimp.effects._effects import average
from skimp.kernels import Chi2, Gaussian, Laplacian, Linear, Matern, Polynomial
from tests.problems import regression
from tests.reference import krls, naive

COLUMNS = ["effect", "std_error", "t", "p", "ci_low", "ci_high", "mean", "q25", "q50", "q75"]


def survey(n=150):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "member": rng.integers(0, 2, n).astype(bool),
            "region": rng.choice(["north", "south", "west"], n),
        }
    )
    y = 0.1 * frame.age * (1 + frame.member) + 2 * (frame.region == "south")
    return frame, y + 0.5 * rng.normal(size=n)


def test_derivatives_and_covariances_are_their_naive_twins():
    X, y, _ = regression(60)
    model = KRLS(alpha=1e-3).fit(X, y)
    Z, spread = (X - X.mean(axis=0)) / X.std(axis=0), X.std(axis=0)
    K = naive.gaussian(Z, Z, gamma=1 / 6)
    C, H = krls.smoother(K, 60 * 1e-3)
    D = krls.gaussian_derivatives(Z, Z, 1 / 6) / spread
    expected = np.einsum("ijk,j->ik", D, C @ y)
    found, errors = model.effects(return_std=True)
    assert np.abs(found - expected).max() < 1e-8
    noise = np.sum((y - H @ y) ** 2) / np.trace((np.eye(60) - H) @ (np.eye(60) - H))
    for k in range(3):
        variances = noise * np.square(D[:, :, k] @ C).sum(axis=1)
        assert np.allclose(errors[:, k] ** 2, variances, rtol=1e-8)
    h = np.einsum("ijk,jm->km", D, C) / 60
    summary = model.summary(corrected=False)
    assert np.abs(summary.effect - expected.mean(axis=0)).max() < 1e-8
    assert np.abs(summary.covariance[0] - noise * h @ h.T).max() < 1e-8 * noise * (h @ h.T).max()
    assert np.allclose(summary.std_error**2, noise * np.square(h).sum(axis=1), rtol=1e-8)
    assert np.allclose([summary.q25, summary.q75], np.quantile(expected, [0.25, 0.75], axis=0))


def test_derivatives_are_finite_differences_of_predictions():
    X, y, _ = regression(80)
    for approximation in (None, 20, "achlioptas", "sample"):
        model = KRLS(approximation=approximation, random_state=0).fit(X, y)
        effects = model.effects(X)
        for j, unit in enumerate(np.eye(3)):
            slope = (model.predict(X + 1e-5 * unit) - model.predict(X - 1e-5 * unit)) / 2e-5
            assert np.abs(effects[:, j] - slope).max() < 1e-5


def test_two_values_and_levels_are_differences_of_predictions():
    X, y = survey()
    for approximation in (None, 40):
        model = KRLS(approximation=approximation, random_state=0).fit(X, y)
        assert model.terms_ == ["age", "member", "region=south", "region=west"]
        effects = model.effects()
        on, off = (model.predict(X.assign(member=value)) for value in (True, False))
        assert np.abs(effects[:, 1] - (on - off)).max() < 1e-10
        for number, level in enumerate(("south", "west"), start=2):
            there, north = (model.predict(X.assign(region=r)) for r in (level, "north"))
            assert np.abs(effects[:, number] - (there - north)).max() < 1e-10
        table = model.summary().to_frame()
        assert abs(table.effect["region=south"] - 2) < 0.5
        assert table.ci_low["region=west"] < 0 < table.ci_high["region=west"]


def test_frames_of_any_kind_are_alike():
    X, y = survey()
    expected = KRLS().fit(X, y).summary().to_frame()
    others = [
        pl.DataFrame(X.to_dict("list")),
        X.astype({"region": "category"}),
        X.astype({"member": float}),
    ]
    for frame in others:
        model = KRLS().fit(frame, y)
        assert np.allclose(model.summary().to_frame(), expected, rtol=1e-9)
        assert np.allclose(model.predict(frame[:5]), KRLS().fit(X, y).predict(X[:5]))


def test_new_levels_are_refused():
    X, y = survey()
    model = KRLS().fit(X, y)
    with pytest.raises(ValueError, match="column 'region' must hold the levels"):
        model.predict(X.assign(region="east"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["region", "age", "member"]])
    with pytest.raises(ValueError, match="X must be a frame"):
        model.predict(np.zeros((2, 3)))


def test_summary_is_a_regression_table():
    X, y = survey()
    model = KRLS().fit(X, y)
    summary = model.summary(corrected=False)
    table = summary.to_frame()
    assert isinstance(summary, EffectsSummary)
    assert list(table.columns) == COLUMNS
    assert table.index.tolist() == model.terms_
    freedom = model.freedom_
    assert np.array_equal(table.t, table.effect / table.std_error)
    assert np.allclose(table.p, 2 * stats.t.sf(np.abs(table.t), freedom))
    reach = stats.t.ppf(0.975, freedom) * table.std_error
    assert np.allclose(table.ci_low, table.effect - reach)
    assert np.allclose(table.ci_high, table.effect + reach)
    assert np.allclose(table.effect, model.effects().mean(axis=0))
    text = str(summary)
    assert f"R2: {model.score(X, y):.4f}" in text
    assert "nominal 95 %" in text
    assert "region=south (from north)" in text
    assert "member (from 0 to 1)" in text
    assert text == repr(summary)
    single = summary.to_frame(pointwise=True)
    assert np.array_equal(single, model.effects())
    assert list(single.columns) == model.terms_
    assert all(name in summary._repr_html_() for name in COLUMNS)


@pytest.mark.parametrize(
    ("approximation", "errors"),
    [(None, "classical"), (30, "robust"), ("sign", "classical"), ("sample", "robust")],
)
def test_a_row_of_the_table_refers_to_one_estimate(approximation, errors):
    X, y = survey()
    model = KRLS(approximation=approximation, random_state=0).fit(X, y)
    for corrected in (None, True, False):
        table = model.summary(errors=errors, corrected=corrected).to_frame()
        assert np.array_equal(table.t, table.effect / table.std_error)
        assert ((table.ci_low < table.effect) & (table.effect < table.ci_high)).all()
        excluded = (table.ci_low > 0) | (table.ci_high < 0)
        assert np.array_equal(excluded, table.p < 0.05)
        assert np.allclose(table["mean"], model.effects().mean(axis=0))
        assert np.array_equal(table.effect, table["mean"]) == (corrected is False)


def test_effects_are_corrected_for_shrinkage():
    X, y, _ = regression(80)
    model = KRLS(alpha=0.05).fit(X, y)
    plain, corrected = model.summary(corrected=False), model.summary()
    assert np.array_equal(plain.mean, corrected.mean)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    C, H = krls.smoother(naive.gaussian(Z, Z, gamma=1 / 6), 80 * 0.05)
    D = krls.gaussian_derivatives(Z, Z, 1 / 6) / X.std(axis=0)
    left = np.eye(80) - H
    h = (np.einsum("ijk,jm->km", D, C) / 80) @ (np.eye(80) + left + left @ left)
    assert np.allclose(corrected.effect, h @ y, rtol=1e-8)
    errors = model.sigma_ * np.sqrt(np.square(h).sum(axis=1))
    assert np.allclose(corrected.std_error, errors, rtol=1e-8)
    reach = stats.t.ppf(0.975, model.freedom_) * errors
    assert np.allclose(corrected.ci_high - h @ y, reach, rtol=1e-8)
    assert "refer to shrinkage-corrected averages" in str(corrected)
    assert "not corrected for shrinkage" in str(plain)


@pytest.mark.parametrize("approximation", [None, 30, "gaussian", "sample"])
def test_groups_of_single_rows_are_robust_errors_without_leverage(approximation):
    X, y, _ = regression(120)
    model = KRLS(alpha=1e-2, approximation=approximation, random_state=0).fit(X, y)
    fitted, fit = model.fitted_, model.fitted_.fit
    n = fit.n_rows
    L = average(fitted, fitted.data.rows, fitted.functionals(fitted.design.terms))
    q = fit.corrected(fit.coordinates(L))
    scores = fit.influence(q) * fit.residuals[0]
    factor = n / (n - 1) * (n - 1) / (n - fit.dimension)
    clustered = model.summary(errors="clustered", groups=np.arange(120))
    assert np.allclose(clustered.std_error**2, factor * np.square(scores).sum(axis=0))
    names = np.array(["a", "b", "c", "d"], dtype=object)[np.arange(120) % 4]
    four = model.summary(errors="clustered", groups=names)
    rows = np.arange(120) if fitted.models.sampled is None else fitted.models.sampled
    sums = np.array([scores[rows % 4 == g].sum(axis=0) for g in range(4)])
    factor = 4 / 3 * (n - 1) / (n - fit.dimension)
    assert np.allclose(four.std_error**2, factor * np.square(sums).sum(axis=0))
    # few groups tell little of how much they vary
    assert np.allclose(four.ci_high - four.effect, stats.t.ppf(0.975, 3) * four.std_error)


def test_groups_of_rows_with_weights_of_zero():
    X, y, weight = regression(100)
    groups = np.arange(100) // 5
    model = KRLS(alpha=1e-2).fit(X, y, weight)
    present = weight > 0
    same = KRLS(alpha=1e-2).fit(X[present], y[present], weight[present])
    expected = same.summary(errors="clustered", groups=groups[present])
    for given in (groups, groups[present]):
        found = model.summary(errors="clustered", groups=given)
        assert np.allclose(found.to_frame(), expected.to_frame(), rtol=1e-9)


def test_averages_over_other_rows():
    X, y = survey()
    model = KRLS().fit(X, y)
    old = X[X.age > 45]
    summary = model.summary(old)
    assert np.allclose(summary.mean, model.effects(old).mean(axis=0))
    assert summary.pointwise.shape == (len(old), 4)
    assert summary.std_error[0] > model.summary().std_error[0]


def test_weighted_averages_and_quartiles():
    X, y, weight = regression(80)
    model = KRLS(alpha=1e-2).fit(X, y, weight)
    summary, effects = model.summary(), model.effects()
    w = weight[weight > 0]
    assert np.allclose(summary.mean, w @ effects / w.sum())
    repeated = np.repeat(effects, w.astype(int), axis=0)
    lower = np.quantile(repeated, 0.5, axis=0, method="inverted_cdf")
    assert np.allclose(summary.q50, lower)


def test_interactions():
    X, y = survey(300)
    model = KRLS(alpha=1e-4).fit(X, y)
    found = model.interaction("age", "member")
    assert found.names == ("age x member",)
    assert abs(found.effect[0] - 0.1) < 0.03
    on, off = (model.effects(X.assign(member=value))[:, 0] for value in (True, False))
    assert np.allclose(found.pointwise[:, 0], on - off)
    same = model.interaction("member", "age")
    assert np.allclose(found.pointwise, same.pointwise, atol=1e-6)
    assert np.isclose(found.std_error[0], same.std_error[0], rtol=1e-6)
    curved = model.interaction(0, 0)
    assert curved.kinds == ("second derivative",)
    step = np.eye(1)[0] * 1e-3
    up, down = (model.effects(X.assign(age=X.age + s))[:, 0] for s in (step[0], -step[0]))
    assert np.allclose(curved.pointwise[:, 0], (up - down) / 2e-3, atol=1e-6)
    with pytest.raises(ValueError, match="second must be a term of another column"):
        model.interaction("region=south", "region=west")
    with pytest.raises(ValueError, match=r"first must be one of .*'region'"):
        model.interaction("height", "age")


def test_interactions_with_a_factor_have_a_row_for_each_level():
    X, y = survey()
    model = KRLS(alpha=1e-3).fit(X, y)
    found = model.interaction("age", "region", errors="robust")
    assert found.names == ("age x region=south", "age x region=west")
    same = model.interaction("region", "age", errors="robust")
    assert same.names == ("region=south x age", "region=west x age")
    assert np.allclose(found.pointwise, same.pointwise, atol=1e-6)
    for i, level in enumerate(("south", "west")):
        one = model.interaction("age", f"region={level}", errors="robust")
        assert np.array_equal(found.pointwise[:, [i]], one.pointwise)
        for name in COLUMNS:
            assert np.isclose(getattr(found, name)[i], getattr(one, name)[0], rtol=1e-8)
    both = model.interaction("region", "member")
    assert both.names == ("region=south x member", "region=west x member")
    with pytest.raises(ValueError, match="second must be a term of another column"):
        model.interaction("region=south", "region")
    constant = KRLS(alpha=1e-3).fit(X.assign(region="north"), y)
    with pytest.raises(ValueError, match="second must be a column"):
        constant.interaction("age", "region")


def test_interactions_in_any_units():
    X, y, _ = regression(80)
    plain = KRLS(Gaussian(0.1), alpha=1e-3, standardize=False)
    found = plain.fit(X, y).interaction(0, 1).effect[0]
    small = KRLS(Gaussian(0.1 * 1e10), alpha=1e-3, standardize=False).fit(1e-5 * X, y)
    assert np.isclose(small.interaction(0, 1).effect[0] * 1e-10, found, rtol=1e-5)


@pytest.mark.parametrize("kernel", [Laplacian(0.2), Matern(0.5, gamma=0.2)], ids=str)
def test_kinks_have_no_second_derivatives(kernel):
    X, y, _ = regression(60)
    model = KRLS(kernel).fit(np.column_stack([X, X[:, 0] > 0]), y)
    with pytest.raises(ValueError, match="kernel must be twice differentiable"):
        model.interaction(0, 0)
    assert np.isfinite(model.interaction(0, "x3").effect).all()
    for smooth in (Matern(1.5), Polynomial(2), Linear()):
        assert np.isfinite(KRLS(smooth).fit(X, y).interaction(0, 0).effect).all()


def test_second_derivatives_of_rows_with_zeros():
    # negative rows, which a central difference would need, have no chi-square kernel
    X, _, _ = regression(60)
    X = np.maximum(X, 0.0)
    y = X[:, 0] * X[:, 1]
    model = KRLS(Chi2(0.5), alpha=1e-3, standardize=False).fit(X, y)
    found = model.interaction(0, 1)
    inside = X + 0.5
    moved = [model.effects(inside + step * np.eye(3)[1])[:, 0] for step in (1e-4, -1e-4)]
    expected = (moved[0] - moved[1]) / 2e-4
    assert np.allclose(model.interaction(0, 1, inside).pointwise[:, 0], expected, atol=1e-5)
    assert np.isfinite(found.pointwise).all()


def test_levels_of_absent_rows_are_absent():
    X, y = survey()
    weight = np.where(X.region == "north", 0.0, 1.0)
    model = KRLS(alpha=1e-3).fit(X, y, weight)
    assert model.terms_ == ["age", "member", "region=west"]
    present = X[weight > 0]
    same = KRLS(alpha=1e-3).fit(present, y[weight > 0])
    assert np.allclose(model.predict(present), same.predict(present))


def test_expectations_are_predictions_of_typical_rows():
    X, y = survey()
    model = KRLS().fit(X, y)
    frequent = {"member": X.member.mode()[0], "region": X.region.mode()[0]}
    found = model.expectation("age", n_points=7)
    typical = X[:7].assign(age=found.values, **frequent)
    mean, errors = model.predict(typical, return_std=True)
    assert np.allclose(found.mean, mean)
    assert np.allclose(found.std_error, errors)
    assert np.allclose([found.values[0], found.values[-1]], [X.age.min(), X.age.max()])
    assert (found.ci_low < found.mean).all()
    assert list(found.to_frame().columns) == ["mean", "std_error", "ci_low", "ci_high"]
    assert found.to_frame().index.name == "age"
    assert model.expectation("region").values.tolist() == ["north", "south", "west"]
    assert model.expectation("member").values.tolist() == [0, 1]
    for approximation in (30, "sign"):
        other = KRLS(approximation=approximation, random_state=0).fit(X, y)
        assert np.allclose(other.expectation("age", n_points=7).mean, other.predict(typical))
    both = KRLS().fit(X, np.column_stack([y, -y])).expectation("region")
    assert both.to_frame().shape == (6, 5)
    assert np.allclose(both.mean[:, 0], -both.mean[:, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"errors": "HC3"}, "errors must be 'classical'"),
        ({"errors": "clustered"}, "groups must be"),
        ({"groups": np.zeros(150)}, "groups must be"),
        ({"errors": "clustered", "groups": np.zeros(150)}, "at least two"),
        ({"errors": "clustered", "groups": np.arange(7)}, "each of the 150"),
        ({"errors": "clustered", "groups": pd.array([pd.NA] + [1] * 149)}, "known for every row"),
        ({"corrected": "no"}, "corrected must be"),
        ({"level": 1.0}, "level must be"),
    ],
)
def test_bad_options_are_named(options, message):
    X, y = survey()
    model = KRLS().fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.summary(**options)


def test_covariance_of_coefficients():
    X, y, _ = regression(60)
    for approximation in (None, 15, "gaussian"):
        model = KRLS(alpha=1e-2, approximation=approximation, random_state=0).fit(X, y)
        for kind in ("classical", "robust"):
            V = model.vcov(errors=kind)
            assert V.shape == (len(model.coef_),) * 2
            assert np.allclose(V, V.T)
        fitted = model.fitted_
        L = average(fitted, fitted.data.rows, fitted.functionals(fitted.design.terms))
        for kind in ("classical", "robust"):
            expected = model.summary(errors=kind, corrected=False).covariance[0]
            assert np.allclose(L.T @ model.vcov(errors=kind) @ L, expected, rtol=1e-5)
