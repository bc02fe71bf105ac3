import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from skimp.choice import Phase
from skimp.estimators import Certificate
from skimp.estimators._certificate import measure_quality
from skimp.features import Landmarks, Nystroem, RandomBinning, RandomFourier, RandomLayer
from skimp.kernels import Gaussian, Laplacian, Linear
from tests.pairs import pairwise
from tests.problems import regression
from tests.reference import naive

TRIAL = {
    "map": "Nystroem",
    "kernel": "Gaussian(gamma=0.5)",
    "columns": "standardized",
    "size": 64,
    "rows": 400,
    "alpha": 1e-6,
    "error": 0.123456,
    "seconds": 0.25,
}
CERTIFICATE = Certificate(
    status="converged",
    approximation="Nystroem(budget=1024,\n         kernel=Gaussian(gamma=0.5))",
    kernel="Gaussian(gamma=0.5)",
    columns="standardized; column 'income' holds 99 % of the variance of X",
    size=1024,
    size_given=True,
    rows=None,
    alpha=1e-6,
    residual_trace=0.0123456,
    kernel_error=0.25,
    effective_dimension=34.5,
    condition_number=1e7,
    kernel_evaluations=1234567,
    phases=(Phase("search", 0.5, 2000), Phase("solve", 1.25, 3_000_000)),
    trials=(TRIAL,),
    reason="doubling to 2048 was not worth its predicted cost",
    solver="direct: Cholesky",
)
X, _, WEIGHT = regression(60)
ALPHA = 1e-3


def line(name, certificate=CERTIFICATE):
    (found,) = [text for text in str(certificate).splitlines() if text.startswith(name)]
    return found[len(name) :].strip()


def test_text_has_a_line_for_each_number():
    assert repr(CERTIFICATE) == str(CERTIFICATE)
    assert line("fit in 1.8 s").startswith("converged")
    assert line("approximation") == "Nystroem(budget=1024, kernel=Gaussian(gamma=0.5))"
    assert line("columns") == CERTIFICATE.columns
    assert line("size") == "1,024"
    assert line("residual trace") == "0.012"
    assert line("effective dimension") == "34"
    assert line("kernel evaluations") == "1,234,567"
    assert line("seconds") == "search 0.5, solve 1.2"
    assert line("memory") == "3 MB"
    assert line("trials") == f"1; {CERTIFICATE.reason}"
    assert line("solver") == "direct: Cholesky"


def test_numbers_are_short_and_lines_fit_a_screen():
    kernel = "Gaussian(gamma=array([0.123456789, 1.23456789e-05, 12]))"
    shown = replace(CERTIFICATE, kernel=kernel, condition_number=np.inf, solver="long words " * 20)
    assert line("kernel  ", shown) == "Gaussian(gamma=array([0.1235, 1.235e-05, 12]))"
    assert "inf" not in str(shown)
    assert max(map(len, str(shown).splitlines())) <= 100


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "converged; .*large enough.* 34 of 1,024"),
        ({"size": 4096, "effective_dimension": 600.0}, "converged; the model.* 600 of 4,096"),
        ({"size": 50}, "larger size may help.* 34 of 50"),
        ({"size": 50, "size_given": False}, "search chose the size.* 34 of 50"),
        ({"effective_dimension": 0.1}, "constant"),
        ({"rows": 375, "size_given": False}, "limit allows only 375 rows.* 34 of 1,024"),
        ({"approximation": "exact"}, "exact model"),
        ({"kernel": None}, "without a kernel"),
        ({"status": "stopped early"}, "stopped early"),
        ({"status": "max_iter"}, "not converged.*max_iter"),
        ({"status": "stalled"}, "not converged.*rounding"),
        ({"status": "time limit"}, "not converged.*time_limit"),
    ],
)
def test_verdict_follows_from_the_numbers(change, verdict):
    assert re.search(verdict, replace(CERTIFICATE, **change).verdict)


def test_what_is_not_known_is_left_out():
    unknown = replace(
        CERTIFICATE, residual_trace=None, kernel_error=None, condition_number=None, trials=()
    )
    text = str(unknown)
    assert not any(n in text for n in ("residual trace", "kernel error", "condition", "trials"))
    assert "effective dimension" in text


def test_seconds_are_those_of_all_phases():
    assert CERTIFICATE.seconds == 1.75


def test_dict_is_plain_and_complete():
    record = CERTIFICATE.to_dict()
    assert json.loads(json.dumps(record)) == record
    assert list(record) == list(CERTIFICATE.__dataclass_fields__)
    assert record["phases"][1] == {"name": "solve", "seconds": 1.25, "bytes": 3_000_000}
    assert record["trials"] == [TRIAL]


def test_html_has_a_table_for_numbers_and_one_for_trials():
    html = CERTIFICATE._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 2
    assert "<td" in html
    assert ">0.123<" in html
    assert replace(CERTIFICATE, trials=())._repr_html_().count("<table>") == 1


def test_html_escapes_what_users_named():
    trials = ({**TRIAL, "kernel": "<b>&"},)
    named = replace(CERTIFICATE, kernel="<script>", columns="<u>", reason="<i>", trials=trials)
    html = named._repr_html_()
    assert not any(tag in html for tag in ("<script>", "<u>", "<i>", "<b>"))
    assert "&lt;b&gt;&amp;" in html


def dimension(K, weight):
    roots = np.sqrt(weight / weight.sum())
    K = roots[:, None] * K * roots
    return np.trace(K @ np.linalg.inv(K + ALPHA * np.eye(len(K))))


@pairwise(weight=[np.ones(60), WEIGHT], gamma=[0.5, 0.01], rank=[None, 6])
def test_landmarks_equal_their_naive_twins(weight, gamma, rank):
    fitted = Nystroem(Gaussian(gamma), budget=12, selector="uniform", rank=rank, random_state=0)
    fitted.fit(X)
    found = measure_quality(fitted, X, weight, ALPHA)
    B = fitted.landmarks_.points
    K, P = naive.gaussian(X, X, gamma), naive.gaussian(B, B, gamma)
    A = naive.nystroem(naive.gaussian(X, B, gamma), P, naive.gaussian(B, X, gamma), rank=rank)
    assert found.residual_trace == pytest.approx(1 - weight @ np.diag(A) / weight.sum(), abs=1e-7)
    error = np.linalg.norm(K - A) / np.linalg.norm(K)
    assert found.kernel_error == pytest.approx(error, rel=1e-4, abs=1e-7)
    assert found.dimension == pytest.approx(dimension(A, weight), rel=1e-5)


@pytest.mark.parametrize("size", [5, 20])
def test_condition_number_is_that_of_the_landmarks(size):
    basis = Landmarks(Laplacian(0.5), X[:size])
    found = measure_quality(basis, X, np.ones(60), ALPHA)
    exact = np.linalg.cond(naive.laplacian(X[:size], X[:size], 0.5), 1)
    # the estimate is a lower bound, within a factor of three in practice
    assert exact / 3 <= found.condition_number <= 1.0001 * exact


def test_condition_of_equal_points_is_infinite():
    basis = Landmarks(Laplacian(0.5), X[[0, 0]])
    assert measure_quality(basis, X, WEIGHT, ALPHA).condition_number == np.inf


@pytest.mark.parametrize(
    "fitted",
    [
        RandomFourier(Gaussian(0.5), n_components=40, random_state=0),
        RandomBinning(Laplacian(0.5), n_grids=30, random_state=0),
    ],
    ids=repr,
)
def test_random_features_have_an_error_and_no_residual(fitted):
    Z = fitted.fit(X).transform(X)
    Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
    kernel = naive.gaussian if isinstance(fitted, RandomFourier) else naive.laplacian
    K, A = kernel(X, X, 0.5), Z @ Z.T
    found = measure_quality(fitted, X, WEIGHT, ALPHA)
    assert found.residual_trace is None
    assert found.condition_number is None
    assert found.kernel_error == pytest.approx(np.linalg.norm(K - A) / np.linalg.norm(K))
    assert found.dimension == pytest.approx(dimension(A, WEIGHT))


def test_maps_without_a_kernel_have_a_dimension_alone():
    layer = RandomLayer(20, random_state=0).fit(X)
    Z = layer.transform(X)
    found = measure_quality(layer, X, WEIGHT, ALPHA)
    assert (found.residual_trace, found.kernel_error, found.condition_number) == (None, None, None)
    assert found.dimension == pytest.approx(dimension(Z @ Z.T, WEIGHT))


def test_kernel_of_nothing_has_no_residual():
    zeros = np.zeros((9, 2))
    fitted = Nystroem(Linear(), budget=3, random_state=0).fit(zeros)
    found = measure_quality(fitted, zeros, np.ones(9), ALPHA)
    assert (found.residual_trace, found.kernel_error, found.dimension) == (None, 0.0, 0.0)
