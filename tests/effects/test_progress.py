"""Progress of every estimator that can run long: lines, records and callbacks of scikit-learn."""

import logging
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skimp import KRLS, KernelClassifier, KernelRegressor
from skimp.diagnostics import budget_curve
from skimp.effects import Sketch
from skimp.features import KernelHash, Nystroem
from skimp.solvers import Status
from tests.problems import labelled
from tests.repository import run_python

MACHINE = ["read", "search", "landmarks", "penalty", "solve", "total"]
EXACT = ["read", "search", "kernel matrix", "factorization", "total"]
KRLS_EXACT = ["read", "kernel matrix", "factorization", "penalty", "model", "total"]
MODELS = {
    "classifier": (KernelClassifier(approximation=10), MACHINE),
    "regressor": (KernelRegressor(), MACHINE),
    "pcg": (KernelRegressor("rbf", approximation=10, solver="pcg"), MACHINE),
    "dual_cd": (KernelClassifier("rbf", approximation=10, loss="hinge", alpha=0.01), MACHINE),
    "exact": (KernelRegressor("rbf", approximation=None), EXACT),
    "KRLS": (KRLS(), KRLS_EXACT),
    "KRLS with points": (
        KRLS(approximation=10),
        ["read", "landmarks", "moments", "penalty", "model", "total"],
    ),
    "KRLS with a sketch": (
        KRLS(approximation=Sketch(size=10), alpha=0.1),
        ["read", "sketch", "moments", "model", "total"],
    ),
    "KRLS with bandwidths": (
        KRLS(sigmas=[1.0, 2.0]),
        ["read", "search", "kernel matrix", "factorization", "model", "total"],
    ),
}
every_model = pytest.mark.parametrize(("model", "phases"), MODELS.values(), ids=MODELS)
X, Y, _ = labelled(120)


def fitted(model, **params):
    return clone(model).set_params(random_state=0, **params).fit(X, Y)


@every_model
def test_a_line_for_each_phase_on_standard_error(model, phases, capfd):
    fitted(model)
    assert capfd.readouterr() == ("", "")
    fitted(model, verbose=True)
    out, err = capfd.readouterr()
    assert out == ""
    # a slow machine says how far a phase is, too
    lines = [line for line in err.splitlines() if " ..." not in line]
    seen = [next(p for p in phases if f"  {p} " in line) for line in lines]
    assert seen == phases
    assert "120 rows" in err


def test_verbose_2_shows_each_trial_with_its_error(capfd):
    model = fitted(KernelRegressor(), verbose=2)
    out, err = capfd.readouterr()
    lines = [line for line in err.splitlines() if " ..." not in line]
    trials = [line for line in lines if "  trial " in line]
    assert out == ""
    assert len(trials) == len(model.fitted_.choice.trials) > 3
    assert all("error" in line and "landmarks" in line for line in trials[:2])
    assert any("  moments " in line for line in lines)


def test_records_go_to_the_logger(caplog, capfd):
    with caplog.at_level(logging.INFO, logger="skimp"):
        fitted(KRLS(), verbose=1)
    assert {record.name for record in caplog.records} == {"skimp"}
    assert len(caplog.records) >= len(KRLS_EXACT)
    assert capfd.readouterr() == ("", "")


def test_effects_and_tables_report_as_their_model_does(capfd):
    for verbose in (0, 1):
        model = fitted(KRLS(approximation=10), verbose=verbose)
        capfd.readouterr()
        model.effects()
        model.summary()
        out, err = capfd.readouterr()
        assert out == ""
        assert [line.split()[1] for line in err.splitlines()] == ["effects", "summary"][
            : 2 * verbose
        ]


def test_diagnostics_report_as_their_model_does(capfd):
    for verbose in (0, 1):
        budget_curve(KernelRegressor("rbf", approximation=20, verbose=verbose), X, Y)
        assert ("budget_curve" in capfd.readouterr().err) == bool(verbose)


def test_without_callbacks_in_scikit_learn():
    script = """
import importlib.util as util
find = util.find_spec
util.find_spec = lambda name, *rest: None if name == "sklearn.callback" else find(name, *rest)
from skimp import KRLS, KernelRegressor
import numpy as np
X = np.random.default_rng(0).normal(size=(50, 2))
for model in (KRLS(verbose=1), KernelRegressor("rbf", approximation=5, verbose=1)):
    assert not hasattr(model, "set_callbacks")
    model.fit(X, X[:, 0])
"""
    assert run_python("-c", script) == ""


callback = pytest.mark.skipif(
    not hasattr(KRLS, "set_callbacks"), reason="scikit-learn 1.9 has callbacks"
)


class Recorder:
    """A callback that remembers tasks, and may raise or stop at one."""

    def __init__(self, stop="", error=""):
        self.stop, self.error = stop, error
        self.open, self.tasks, self.models, self.up = [], [], [], 0

    def setup(self, estimator, context):
        self.up += 1

    def teardown(self, estimator, context):
        self.up -= 1

    def on_fit_task_begin(self, estimator, context, *, X, y):
        assert len(X) == len(y)
        self.open.append(context)
        if context.task_name == self.error:
            raise KeyboardInterrupt

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        assert self.open.pop() is context
        self.tasks.append((len(self.open), context.task_name))
        if fitted_estimator is not None:
            self.models.append(fitted_estimator.predict(X))
        return context.task_name == self.stop


@callback
@every_model
def test_phases_are_tasks_and_change_nothing(model, phases):
    recorder = Recorder()
    plain, heard = fitted(model), fitted(clone(model).set_callbacks(recorder))
    assert np.array_equal(plain.predict(X), heard.predict(X))
    assert [name for depth, name in recorder.tasks if depth == 1] == phases[:-1]
    assert recorder.tasks[-1] == (0, "fit")
    assert (recorder.open, recorder.up) == ([], 0)
    assert np.array_equal(recorder.models[-1], heard.predict(X))
    again = pickle.loads(pickle.dumps(heard))
    assert np.array_equal(again.predict(X), heard.predict(X))
    assert "_callback_fit_ctx" not in vars(again)


@callback
@pytest.mark.parametrize(("model", "task"), [("pcg", "step"), ("dual_cd", "sweep")])
def test_iterations_hand_over_models_and_can_be_stopped(model, task):
    model, recorder = MODELS[model][0], Recorder()
    heard = fitted(clone(model).set_callbacks(recorder))
    assert recorder.tasks.count((3, task)) == heard.n_iter_
    assert len(recorder.models) > 1
    assert np.array_equal(recorder.models[-2], heard.predict(X))
    stopped = fitted(clone(model).set_params(tol=1e-12).set_callbacks(Recorder(stop=task)))
    assert stopped.n_iter_ == 1
    assert stopped.solution_.status is Status.STOPPED_EARLY


@callback
def test_factorization_is_counted_in_percent():
    recorder = Recorder()
    KRLS().set_callbacks(recorder).fit(X, Y)
    assert {name for depth, name in recorder.tasks if depth == 3} >= {"percent"}


@callback
def test_a_source_may_give_more_rows_than_before():
    recorder = Recorder()
    with (
        fitted(KRLS().set_callbacks(recorder))._reporting(1, X, Y) as context,
        context.phase("features", unit="rows", total=10),
    ):
        recorder.tasks.clear()
        context.progress.see_rows(12, 10)
    assert recorder.tasks.count((2, "rows")) == 10


@callback
def test_budget_curve_calls_no_callbacks():
    recorder = Recorder()
    model = KernelClassifier("rbf", approximation=10, loss="log").set_callbacks(recorder)
    assert budget_curve(model, X, Y).confirmed
    assert recorder.tasks == []


@callback
@pytest.mark.parametrize("task", ["fit", "read", "solve"])
def test_interrupted_fits_tear_down_and_leave_the_model_alone(task, capfd):
    model, recorder = fitted(MODELS["classifier"][0]), Recorder(error=task)
    before = model.predict(X)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(verbose=1).set_callbacks(recorder).fit(X[:50], Y[:50])
    assert recorder.up == 0
    assert np.array_equal(model.predict(X), before)
    assert "total" not in capfd.readouterr().err
    model.set_callbacks().fit(X, Y)


@callback
def test_callbacks_of_scikit_learn_show_and_score(capsys):
    from sklearn.callback import ProgressBar, ScoringMonitor

    pytest.importorskip("rich")
    for model in (KernelClassifier(approximation=10), KRLS()):
        metric = "accuracy" if isinstance(model, KernelClassifier) else "r2"
        monitor = ScoringMonitor(scoring=metric)
        found = fitted(model.set_callbacks(ProgressBar(), monitor))
        assert monitor.get_logs().data[0][metric] == pytest.approx(found.score(X, Y))
    model = make_pipeline(Nystroem(budget=10), KernelClassifier("linear", approximation=5))
    model.set_callbacks(ProgressBar(None)).fit(X, Y)
    assert "landmarks" in (out := capsys.readouterr().out)
    assert "solve" in out
    model = GridSearchCV(KRLS(approximation=10), {"alpha": [0.1, 1.0]}, cv=2)
    model.set_callbacks(ProgressBar(None)).fit(X, Y)
    assert "moments" in capsys.readouterr().out
    KernelHash(n_bits=8).set_callbacks(ProgressBar()).fit(X)
    assert "projection" in capsys.readouterr().out
