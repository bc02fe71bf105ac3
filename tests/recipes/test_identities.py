"""Recipes that equal something known."""

import numpy as np
import pytest
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from skimp import recipes
from skimp.budgets import Fixed
from skimp.kernels import Gaussian, Linear
from skimp.solvers import DualCD
from tests.problems import labelled, regression
from tests.reference import recipes as reference

GAMMA = 0.4
X, y, _ = regression(80)
SIDES = np.where(y > np.median(y), 1.0, -1.0)
ALL = {"kernel": Gaussian(GAMMA), "selector": Fixed(X), "budget": len(X)}


def test_ls_svm_without_an_intercept_is_kernel_ridge():
    model = recipes.ls_svm("regression", alpha=1e-3, fit_intercept=False, **ALL).fit(X, y)
    ridge = KernelRidge(alpha=len(X) * 1e-3, kernel="rbf", gamma=GAMMA).fit(X, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), rtol=1e-6)


def test_ls_svm_solves_the_system_of_least_squares_svms():
    C = 2.5
    alpha = recipes.alpha_from_C(C, len(X), halved=False)
    model = recipes.ls_svm(alpha=alpha, **ALL).fit(X, SIDES)
    coef, intercept = reference.ls_svm(Gaussian(GAMMA)(X), SIDES, C)
    expected = Gaussian(GAMMA)(X) @ coef + intercept
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_budgeted_svm_is_nystroem_svm_with_the_same_landmarks(loss):
    given = {"kernel": Gaussian(GAMMA), "selector": Fixed(X[:20]), "budget": 20, "alpha": 1e-2}
    given |= {"loss": loss, "solver": "dual_cd", "tol": 1e-9}
    models = [recipes.budgeted_svm(**given), recipes.nystroem_svm(**given), recipes.llsvm(**given)]
    found = [model.fit(X, SIDES).decision_function(X) for model in models]
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)
    np.testing.assert_allclose(found[2], found[0], atol=1e-4)


@pytest.mark.parametrize("C", [0.5, 5.0])
def test_c_is_that_of_svms(C):
    alpha = recipes.alpha_from_C(C, n=len(X))
    exact = SVC(C=C, gamma=GAMMA, tol=1e-8).fit(X, SIDES).decision_function(X)
    model = recipes.budgeted_svm(alpha=alpha, tol=1e-9, max_iter=20_000, **ALL).fit(X, SIDES)
    np.testing.assert_allclose(model.decision_function(X), exact, atol=1e-3)


@pytest.mark.parametrize("arguments", [(0, 5), (1.0, 0), ("1", 5)], ids=repr)
def test_c_and_n_must_be_positive(arguments):
    with pytest.raises(ValueError, match=r"alpha_from_C: (C|n) must be"):
        recipes.alpha_from_C(*arguments)


def test_sdca_is_a_linear_svm():
    solver = DualCD(penalize_intercept=True)
    model = recipes.sdca_svm(alpha=1e-2, solver=solver, tol=1e-9, max_iter=5000).fit(X, SIDES)
    S = StandardScaler().fit_transform(X)
    C = 1 / (2 * len(X) * 1e-2)
    linear = LinearSVC(C=C, loss="hinge", tol=1e-9, max_iter=10**6, random_state=0).fit(S, SIDES)
    found = model.decision_function(X)
    np.testing.assert_allclose(found, linear.decision_function(S), atol=1e-3)


@pytest.mark.parametrize("kernel", [None, Gaussian(GAMMA)], ids=repr)
def test_stochastic_solvers_approach_the_same_minimum(kernel):
    given = {"alpha": 0.05} | ({} if kernel is None else {"kernel": kernel, "budget": 20})
    models = {
        "pegasos_svm": {"tol": 1e-4, "max_iter": 2000},
        "sarah_svm": {"loss": "log", "tol": 1e-8},
        "sdca_svm": {"tol": 1e-8},
    }
    built = {
        name: getattr(recipes, name)(**given, **options, random_state=0).fit(X, SIDES)
        for name, options in models.items()
    }
    # a penalized intercept makes little difference to classes of the same size
    least = built["sdca_svm"].solution_.history[-1]
    assert built["pegasos_svm"].solution_.history[-1] == pytest.approx(least, rel=0.05)
    logistic = recipes.nystroem_svm(
        **given, loss="log", approximation=built["sarah_svm"].approximation, random_state=0
    )
    found = logistic.set_params(tol=1e-9).fit(X, SIDES).solution_.history[-1]
    assert built["sarah_svm"].solution_.history[-1] == pytest.approx(found, rel=1e-4)


def test_elm_is_ridge_regression_on_its_layer():
    model = recipes.elm("regression", n_components=30, alpha=1e-3, random_state=0).fit(X, y)
    layer = model["model"].approximation_
    Z = layer.transform(StandardScaler().fit_transform(X))
    ridge = Ridge(alpha=len(X) * 1e-3).fit(Z, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(Z), rtol=1e-6)


def test_kitchen_sinks_are_ridge_regression_on_their_features():
    given = {"n_components": 30, "alpha": 1e-3, "random_state": 0, "kernel": Gaussian(GAMMA)}
    model = recipes.kitchen_sinks("regression", **given).fit(X, y)
    Z = model.approximation_.transform(X)
    ridge = Ridge(alpha=len(X) * 1e-3).fit(Z, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(Z), rtol=1e-6)


def test_falkon_is_the_direct_solution():
    given = {"budget": 30, "alpha": 1e-4, "kernel": Gaussian(GAMMA), "random_state": 0}
    model = recipes.falkon("regression", tol=1e-12, **given).fit(X, y)
    direct = recipes.falkon("regression", solver="direct", **given).fit(X, y)
    np.testing.assert_allclose(model.predict(X), direct.predict(X), rtol=1e-5)
    assert model.solution_.message.startswith("pcg")


@pytest.mark.parametrize("kernel", [Gaussian(GAMMA), Linear()], ids=repr)
def test_kernel_pca_with_all_rows_is_exact(kernel):
    model = recipes.kernel_pca(n_components=3, scale="passthrough", kernel=kernel, budget=len(X))
    found = model.fit_transform(X)
    exact = KernelPCA(3, kernel=lambda a, b: kernel(a[None], b[None]).item()).fit_transform(X)
    np.testing.assert_allclose(np.abs(found), np.abs(exact), rtol=1e-4, atol=1e-6)
    if kernel == Linear():
        np.testing.assert_allclose(np.abs(found), np.abs(PCA(3).fit_transform(X)), atol=1e-6)


def test_kernel_kmeans_with_the_linear_kernel_is_kmeans():
    given = {"n_clusters": 4, "random_state": 0, "n_init": 5}
    model = recipes.kernel_kmeans(kernel="linear", scale="passthrough", **given).fit(X)
    assert adjusted_rand_score(model.predict(X), KMeans(**given).fit_predict(X)) == 1


def test_spectral_clustering_with_all_rows_is_exact():
    moons, groups = make_moons(200, noise=0.05, random_state=0)
    given = {"n_clusters": 2, "random_state": 0}
    model = recipes.spectral_clustering(
        kernel=Gaussian(20.0), scale="passthrough", **given, budget=200
    )
    found = model.fit_predict(moons)
    exact = SpectralClustering(gamma=20.0, **given).fit_predict(moons)
    assert adjusted_rand_score(found, exact) == 1
    assert adjusted_rand_score(found, groups) == 1
    more, others = make_moons(300, noise=0.05, random_state=1)
    assert adjusted_rand_score(model.predict(more), others) == 1


def test_one_class_marks_about_a_share_of_its_rows():
    rows = np.random.default_rng(0).normal(size=(1000, 2)) * [1.0, 1e3]
    for nu in (0.05, 0.3):
        model = recipes.one_class(nu=nu, budget=50, random_state=0).fit(rows)
        assert abs((model.predict(rows) == -1).mean() - nu) < 0.05
        assert model.predict(8 * rows[np.abs(rows[:, 0]) > 1]).max() == -1


def test_reject_recipe_rejects_a_tenth():
    rows, labels, _ = labelled(400, seed=1)
    model = recipes.classification_with_reject(n_components=50, random_state=0)
    model.fit(rows[:300], labels[:300])
    rejected = model.predict(rows[300:]) == model.reject_label_
    assert abs(rejected.mean() - 0.1) < 4 * np.sqrt(0.09 * (1 / 100 + 1 / 300))


def test_projections_are_standardized_before_the_svm():
    model = recipes.polynomial_projection_svm(n_components=10, random_state=0).fit(X, SIDES)
    Z = model[:-1].transform(X)
    np.testing.assert_allclose(Z.std(axis=0), 1)
    assert model["model"].approximation_.width == 10
    plain = recipes.polynomial_projection_svm(scale="passthrough", degree=3, coef0=0, gamma=1.0)
    assert plain["map"].degree == 3
    assert plain["scale"] == "passthrough"


def test_kmeans_fourier_maps_distances_to_centres():
    model = recipes.kmeans_fourier_svm(n_clusters=4, n_components=10, random_state=0)
    model.fit(X, SIDES)
    assert model["model"].n_features_in_ == 4
    distances = model[:-1].transform(X)
    centres = model["cluster"].cluster_centers_
    S = StandardScaler().fit_transform(X)
    expected = np.linalg.norm(S[:, None] - centres, axis=2)
    np.testing.assert_allclose(distances, expected, rtol=1e-6, atol=1e-6)
