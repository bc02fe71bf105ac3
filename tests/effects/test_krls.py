import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from skimp import KRLS
from skimp._core._random import draw_seed, row_keys
from skimp.budgets import KMeans
from skimp.data import open_rows
from skimp.effects import Points, RowSample, Sketch
from skimp.effects._random_sums import SKETCHES
from skimp.kernels import Gaussian, Laplacian, Linear
from skimp.recipes import POWERS
from tests.problems import regression
from tests.reference import krls, naive


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def test_exact_model_is_its_naive_twin():
    X, y, _ = regression(60)
    model = KRLS(alpha=1e-3).fit(X, y)
    K = naive.gaussian(scaled(X), scaled(X), gamma=1 / 6)
    c, b = krls.fit(K, y, 60 * 1e-3)
    assert np.abs(model.coef_ - c).max() < 1e-8
    assert abs(model.intercept_ - b) < 1e-8
    assert np.abs(model.predict(X) - K @ c - b).max() < 1e-8
    assert np.abs(model.loo_residuals_ - krls.left_out(K, y, 60 * 1e-3)).max() < 1e-8
    C, H = krls.smoother(K, 60 * 1e-3)
    M = np.linalg.matrix_power(np.eye(60) - H, 2)
    noise = np.sum((y - H @ y) ** 2) / M.trace()
    assert np.isclose(model.freedom_, M.trace() ** 2 / np.trace(M @ M), rtol=1e-8)
    assert np.isclose(model.sigma_**2, noise, rtol=1e-8)
    assert np.abs(model.vcov() - noise * C @ C.T).max() < 1e-8 * noise * np.abs(C @ C.T).max()
    _, errors = model.predict(X[:5], return_std=True)
    assert np.allclose(errors**2, noise * (H @ H.T).diagonal()[:5], rtol=1e-8)


def test_without_intercept_it_is_equation_2_15():
    X, y, _ = regression(50)
    model = KRLS(alpha=1e-2, fit_intercept=False).fit(X, y)
    K = naive.gaussian(scaled(X), scaled(X), gamma=1 / 6)
    assert np.abs(model.coef_ - krls.fit_without_intercept(K, y, 0.5)).max() < 1e-9
    assert model.intercept_ == 0


def test_linear_kernel_reproduces_ridge():
    X, y, _ = regression(80)
    ridge = Ridge(alpha=80 * 1e-2).fit(scaled(X), y)
    for approximation in (None, 10):
        model = KRLS(Linear(), alpha=1e-2, approximation=approximation, random_state=0).fit(X, y)
        assert np.abs(model.predict(X) - ridge.predict(scaled(X))).max() < 1e-8
        assert np.allclose(model.effects(), ridge.coef_ / X.std(axis=0), rtol=1e-8)


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("approximation", [None, 30])
def test_penalty_is_best_by_its_criterion(criterion, approximation):
    X, y, _ = regression(100)
    model = KRLS(alpha=criterion, approximation=approximation, random_state=0).fit(X, y)

    def error(alpha):
        other = KRLS(alpha=alpha, approximation=approximation, random_state=0).fit(X, y)
        if criterion == "loo":
            return np.mean(other.loo_residuals_**2)
        left = 1 - other.dimension_ / len(X)
        return np.mean((y - other.predict(X)) ** 2) / left**2

    best = error(model.alpha_)
    assert all(best < error(factor * model.alpha_) for factor in (0.5, 2.0))
    assert 0.9 * np.min(model.scores_) < best / np.var(y) <= 1.001 * np.min(model.scores_)


@pytest.mark.parametrize(
    "approximation", [None, RowSample(0.5), Points("kmeans", 20), Sketch("gaussian", 20)], ids=str
)
def test_folds_keep_the_ridge_penalty_and_reduce_their_own_rows(approximation):
    X, y, _ = regression(100)
    lams = [0.01, 1.0]
    made = {"approximation": approximation, "standardize": False, "random_state": 0}
    kernel = Gaussian(0.2)
    model = KRLS(kernel, alpha="kfold", lams=lams, **made).fit(X, y)
    # the seed of the folds and of all approximations is the first that the generator gives
    seed = draw_seed(np.random.default_rng(0))
    fold = np.empty(100, int)
    fold[np.argsort(row_keys(seed, 0, 100))] = np.arange(100) % 5
    missed = np.zeros(2)
    for number in range(5):
        rest = fold != number
        for i, lam in enumerate(lams):
            n = 40 if isinstance(approximation, RowSample) else 80
            part = KRLS(kernel, alpha=lam / n, **made).fit(X[rest], y[rest] - y.mean())
            errors = y[~rest] - y.mean() - part.predict(X[~rest])
            missed[i] += np.sum(errors**2)
    assert np.allclose(model.scores_, missed / np.sum((y - y.mean()) ** 2), rtol=1e-6)
    n = len(model.loo_residuals_)
    assert np.isclose(model.alpha_ * n, lams[np.argmin(missed)])


def test_grids_choose_width_and_penalty():
    X, y, _ = regression(80, 2)
    model = KRLS(lams=POWERS, sigmas=POWERS).fit(X, y)
    sigma = (1 / (2 * model.kernel_.gamma)) ** 0.5
    assert np.isclose(POWERS, sigma).any()
    assert np.isclose(POWERS, model.alpha_ * 80).any()
    scores = [np.min(KRLS(Gaussian(1 / (2 * s**2)), lams=POWERS).fit(X, y).scores_) for s in POWERS]
    assert np.isclose(np.min(model.scores_), min(scores))


@pytest.mark.parametrize(
    "approximation", [40, "kmeans", "rpcholesky", "leverage", *SKETCHES], ids=str
)
def test_full_budgets_are_the_exact_model(approximation):
    X, y, _ = regression(40)
    # random sums of all columns span them, too, if there are as many
    exact = KRLS(alpha=1e-3).fit(X, y)
    model = KRLS(alpha=1e-3, approximation=approximation, random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - exact.predict(X)).max() < 1e-4
    found, expected = model.summary(), exact.summary()
    assert np.allclose(found.mean, expected.mean, atol=1e-4)
    assert np.allclose(found.std_error, expected.std_error, rtol=1e-3)
    assert (np.abs(found.effect - expected.effect) < 1e-2 * expected.std_error).all()
    assert "conditional" in str(model.summary())


@pytest.mark.parametrize("name", SKETCHES)
def test_sketches_are_equation_3_9(name):
    X, y, _ = regression(60)
    model = KRLS(alpha=1e-2, approximation=Sketch(name, 15), fit_intercept=False, random_state=0)
    model.fit(X, y)
    K = naive.gaussian(scaled(X), scaled(X), gamma=1 / 6)
    S = model.fitted_.models.basis.mixing.T
    S = S.toarray() if sparse.issparse(S) else S
    w = np.linalg.solve(S @ K @ K @ S.T + 60 * 1e-2 * S @ K @ S.T, S @ K @ y)
    assert np.abs(K @ S.T @ (model.coef_ - w)).max() < 1e-7
    assert np.abs(model.dual_coef_ - S.T @ model.coef_).max() < 1e-12
    assert np.abs(model.predict(X) - K @ S.T @ w).max() < 1e-7


def test_subsampling_is_a_sketch_and_a_budget():
    X, y, _ = regression(60)
    model = KRLS(alpha=1e-2, approximation=Sketch("subsampling", 15), random_state=0).fit(X, y)
    chosen = np.flatnonzero(model.fitted_.models.basis.mixing.toarray().any(axis=1))
    from skimp.budgets import Fixed

    same = KRLS(alpha=1e-2, approximation=Points(Fixed(scaled(X)[chosen]), 15)).fit(X, y)
    assert np.abs(model.predict(X) - same.predict(X)).max() < 1e-9
    assert np.allclose(model.summary().std_error, same.summary().std_error, rtol=1e-6)


def test_sample_alone_is_the_exact_model_of_these_rows():
    X, y, weight = regression(100)
    model = KRLS(alpha=1e-2, approximation=RowSample(0.3), random_state=0).fit(X, y)
    assert len(model.coef_) == 30
    rows = model.fitted_.models.sampled
    K = naive.gaussian(scaled(X)[rows], scaled(X)[rows], gamma=1 / 6)
    c, _ = krls.fit(K, y[rows], 30 * 1e-2)
    assert np.abs(model.coef_ - c).max() < 1e-8
    assert model.effects().shape == (100, 3)
    weighted = KRLS(alpha=1e-2, approximation=RowSample(30), random_state=0)
    assert np.isfinite(weighted.fit(X, y, weight).summary().std_error).all()


def test_weights_count_rows():
    X, y, weight = regression(60)
    exact = KRLS(alpha=1e-3).fit(X, y, weight)
    repeated = KRLS(alpha=1e-3).fit(*(np.repeat(a, weight.astype(int), axis=0) for a in (X, y)))
    assert np.abs(exact.predict(X) - repeated.predict(X)).max() < 1e-8
    assert np.abs(exact.effects(X) - repeated.effects(X)).max() < 1e-8
    assert np.allclose(exact.summary().effect, repeated.summary().effect, rtol=1e-8)
    assert len(exact.loo_residuals_) == np.count_nonzero(weight)


def test_copies_of_a_row_are_left_out_together():
    X, y, weight = regression(60)
    repeated = [np.repeat(a, weight.astype(int), axis=0) for a in (X, y)]
    one, other = KRLS().fit(X, y, weight), KRLS().fit(*repeated)
    assert np.isclose(one.alpha_, other.alpha_, rtol=1e-6)
    assert not np.isclose(one.alpha_, KRLS().fit(X, y).alpha_, rtol=1e-2)


def test_rows_that_are_equal_by_chance_are_left_out_one_by_one():
    X, y = np.arange(900)[:, None] % 3, np.arange(900) % 7 // 3
    means = np.array([y[i::3].mean() for i in range(3)])
    assert np.abs(KRLS().fit(X, y).predict(X) - means[X[:, 0]]).max() < 0.01


@pytest.mark.parametrize("approximation", [None, 20, "gaussian"])
def test_outputs_are_fitted_one_by_one(approximation):
    X, y, _ = regression(80)
    Y = np.column_stack([y, X[:, 0] ** 2, np.zeros(80)])
    model = KRLS(alpha=1e-3, approximation=approximation, random_state=0).fit(X, Y)
    assert model.effects().shape == (80, 3, 3)
    assert model.intercept_.shape == model.sigma_.shape == (3,)
    assert model.vcov().shape[0] == 3
    whole = model.summary(errors="robust")
    assert len(whole.names) == 9
    assert whole.names[4] == "y1: x1"
    for output in range(2):
        one = KRLS(alpha=1e-3, approximation=approximation, random_state=0).fit(X, Y[:, output])
        assert np.abs(model.predict(X)[:, output] - one.predict(X)).max() < 1e-9
        single, part = one.summary(errors="robust"), slice(3 * output, 3 * output + 3)
        for name in ("effect", "std_error", "ci_low", "q25"):
            assert np.allclose(getattr(whole, name)[part], getattr(single, name), rtol=1e-6)
    assert np.isnan(whole.t[6:]).all()


def test_blocks_and_threads_make_no_difference():
    X, y, weight = regression(90)
    for approximation in (None, 20, Sketch("sign", 20)):
        models = [
            KRLS(approximation=approximation, random_state=0, n_jobs=n_jobs).fit(
                open_rows(X, target=y, weight=weight, block_rows=block_rows)
            )
            for block_rows, n_jobs in ((90, 1), (8, 1), (8, 2))
        ]
        first, *others = (model.summary(errors="robust").to_frame() for model in models)
        assert all(np.allclose(first, other, rtol=1e-8) for other in others)


def test_scikit_learn_tools_take_it():
    X, y, _ = regression(100)
    model = KRLS(Gaussian(), approximation=50, random_state=0)
    search = GridSearchCV(model, {"kernel__gamma": [0.1, 100.0]}, cv=2)
    assert search.fit(X, y).best_params_ == {"kernel__gamma": 0.1}
    model = clone(KRLS(approximation=Points(KMeans(), 9), random_state=0)).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert str(again.summary()) == str(model.summary())


def test_many_columns_for_few_rows_do_not_look_certain():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 30))
    y = 3 * X[:, 0] + rng.normal(size=100)
    for options in ({}, {"approximation": "kmeans"}, {"approximation": "gaussian"}):
        summary = KRLS(random_state=0, **options).fit(X, y).summary()
        assert np.isfinite(summary.std_error).all()
        # 29 columns without an effect, of which 1.5 are expected below 0.05: six have p < 0.003
        assert np.count_nonzero(summary.p[1:] < 0.05) <= 6
        assert summary.p[0] < 1e-6
    exact = KRLS(random_state=0).fit(X, y)
    assert exact.dimension_ < 90 or "nearly interpolates" in str(exact.summary())


def test_one_model_is_held_at_a_time():
    X, y, _ = regression(700)
    model = KRLS(sigmas=[1.0, 2.0, 4.0]).fit(X[:50], y[:50])
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # one matrix, and what LAPACK works with; the first fit imports and compiles
    assert peak < 2 * 8 * 700**2


def test_kept_features_are_not_part_of_the_model():
    X, y, _ = regression(2000)
    model = KRLS(approximation=100, random_state=0).fit(X, y)
    assert len(pickle.dumps(model)) < X.nbytes + 8 * 100**2 * 8


def test_any_differentiable_kernel_will_do():
    X, y, _ = regression(80)
    for kernel in (Laplacian(0.2), Gaussian() + Linear(), Gaussian().on([0, 1]), "poly"):
        model = KRLS(kernel, alpha=1e-2).fit(X, y)
        assert model.effects().shape == (80, 3)
        assert (model.summary().std_error >= 0).all()
    assert np.abs(KRLS(Gaussian().on([0, 1])).fit(X, y).effects()[:, 2]).max() == 0


def test_a_constant_fit_says_so():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 2)), rng.normal(size=60)
    constant, sloped = (KRLS(alpha=alpha).fit(X, X[:, 0] + noise) for alpha in (1e3, 1e-2))
    assert "constant" in str(constant.summary())
    assert "constant" not in str(sloped.summary())
