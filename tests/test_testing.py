"""A broken part is caught, and the message says which promise it breaks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from skimp.data import LOCAL, Codes
from skimp.features import FeatureMap, RandomFourier
from skimp.kernels import (
    Gaussian,
    InnerProducts,
    Kernel,
    Laplacian,
    ManhattanDistances,
    PairKernel,
    Pitches,
    Spectrum,
    SquaredDistances,
    column_pitches,
    normal_spectrum,
)
from skimp.losses import hinge, multiclass_hinge, quantile, squared
from skimp.solvers import DualCD, Solver, Status, direct
from skimp.testing import (
    check_feature_map,
    check_kernel,
    check_solver,
)


class Bent(PairKernel):
    """The Gaussian kernel of width one, for subclasses to bend."""

    statistic = SquaredDistances

    def profile(self, s):
        np.exp(-s, out=s)

    def slope(self, s):
        self.profile(s)
        np.negative(s, out=s)


class Distance(Bent):
    """A kernel that is not positive definite, as it may say."""

    def profile(self, s):
        pass

    def slope(self, s):
        s[...] = 1


class Indefinite(Distance):
    positive_definite = False


class WrongDiagonal(Bent):
    def diagonal(self, X):
        return np.zeros(X.shape[0])


class WrongSlope(Bent):
    def slope(self, s):
        self.profile(s)


class WrongShape(Bent):
    def gradient(self, X, Y=None):
        return super().gradient(X, Y).transpose(0, 2, 1)


class DoubleGradient(Bent):
    def gradient(self, X, Y=None):
        return super().gradient(X, Y).astype(np.float64)


class WrongSums(Bent):
    def expansion_gradient(self, X, B, coef):
        return 2 * super().expansion_gradient(X, B, coef)


class NotStationary(Distance):
    """The linear kernel, which says that it has a spectrum."""

    statistic = InnerProducts
    stationary = True


class WrongSpectrum(Bent):
    stationary = True

    def spectrum(self, n_features):
        return Spectrum(lambda draws: draws.normals(n_features))


class WrongMoment(Bent):
    stationary = True

    def spectrum(self, n_features):
        return replace(normal_spectrum(np.ones(n_features)), moment=1.0)


class RightSpectrum(Bent):
    stationary = True

    def spectrum(self, n_features):
        return normal_spectrum(np.ones(n_features))


class WrongPitches(Bent):
    statistic = ManhattanDistances

    def pitches(self, n_features):
        return column_pitches(np.ones(n_features), lambda shape, rng: rng.exponential(1, shape), 1)


class WrongRates(Bent):
    statistic = ManhattanDistances

    def pitches(self, n_features):
        right = Laplacian(1.0).pitches(n_features)
        return Pitches(right.sample, 2 * right.rates)


class RightPitches(Bent):
    statistic = ManhattanDistances

    def pitches(self, n_features):
        return Laplacian(1.0).pitches(n_features)


class HiddenSpectrum(Bent):
    def sample_frequencies(self, n_features, size, rng):
        return np.zeros((n_features, size))


class NotRound(Bent):
    statistic = ManhattanDistances
    rotation_invariant = True


class Forgiving(Bent):
    """Takes negative entries, although it says that they have no meaning."""

    needs_nonnegative = True

    def as_rows(self, X, dtype):
        return X


class Unequal(Bent):
    def __eq__(self, other):
        return self is other

    __hash__ = Kernel.__hash__


class Unhashed(Bent):
    __eq__ = Kernel.__eq__

    def __hash__(self):
        return id(self)


class Upcast(Bent):
    def __call__(self, X, Y=None):
        return super().__call__(X, Y).astype(np.float64)


class Lax(Bent):
    """A parameter without a rule."""

    def __init__(self, width=1.0):
        self.width = width


@pytest.mark.parametrize(
    ("kernel", "promise"),
    [
        (Distance(), "k is PSD; smallest eigenvalue -"),
        (WrongDiagonal(), r"diag\(X\) is the diagonal"),
        (WrongSlope(), "the gradient equals finite differences"),
        (WrongShape(), r"the gradient has shape \(n, m, d\)"),
        (DoubleGradient(), "the gradient has the dtype of the rows"),
        (WrongSums(), "expansion_gradient is a sum of gradients"),
        (NotStationary(), r"k\(x \+ t, y \+ t\) = k\(x, y\)"),
        (WrongSpectrum(), "cosines of the frequencies average to the kernel"),
        (WrongMoment(), "spectral_moment is at least"),
        (WrongPitches(), "tents of the pitches average to the kernel"),
        (WrongRates(), "pitch_rates are minus the slopes at zero"),
        (HiddenSpectrum(), "sample_frequencies of a nonstationary kernel"),
        (NotRound(), r"k\(Qx, Qy\) = k\(x, y\) for a rotation"),
        (Forgiving(), "negative entries of X must raise"),
        (Unequal(), "kernels with equal parameters are equal"),
        (Unhashed(), "kernels with equal parameters are equal"),
        (Upcast(), "values have the dtype of the rows"),
        (Lax(), "width='no such' must raise"),
    ],
    ids=repr,
)
def test_broken_kernel(kernel, promise):
    with pytest.raises(AssertionError, match=promise):
        check_kernel(kernel)


@pytest.mark.parametrize(
    "kernel", [Bent(), RightSpectrum(), RightPitches(), Indefinite()], ids=repr
)
def test_kernels_that_keep_their_promises(kernel):
    check_kernel(kernel)


def test_kernel_that_differs_from_its_twin():
    with pytest.raises(AssertionError, match="naive"):
        check_kernel(Gaussian(gamma=1.0), naive=lambda X, Y: np.zeros((len(X), len(Y))))


class Growing(PairKernel):
    """The exponential of inner products, which overflows on rows of a large scale."""

    statistic = InnerProducts

    def profile(self, s):
        np.exp(s, out=s)

    def slope(self, s):
        np.exp(s, out=s)


def test_kernel_that_overflows():
    check_kernel(Growing())
    X = 100 * np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(AssertionError, match=r"k\(X\) is finite; found infinity or NaN"):
        check_kernel(Growing(), X)


class Wrapped(FeatureMap):
    """Columns of X, up to a fault."""

    def __init__(self, fault=None, random_state=None):
        self.fault = fault
        self.random_state = random_state

    def draw(self, rows, rng, context):
        self.scale_ = np.random.default_rng().random() if self.fault == "seed" else 1.0
        if self.fault == "parameters":
            self.fault = None

    def planned_width(self, rows):
        return rows.n_features

    @property
    def width(self):
        return self.n_features_in_ + (self.fault == "width")

    def map_block(self, X, out):
        out[:, X.shape[1] :] = 0
        out[:, : X.shape[1]] = (X.toarray() if hasattr(X, "toarray") else X) * self.scale_
        if self.fault == "blocks":
            out += len(out)

    def basis(self):
        return RandomFourier(n_components=3).fit(np.ones((1, 5))) if self.fault == "basis" else self

    def get_feature_names_out(self):
        return [f"x{j}" for j in range(self.n_features_in_)]


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        ("seed", "same seed"),
        ("parameters", "does not change the parameters"),
        ("width", "width"),
        ("blocks", "block"),
        ("basis", "basis"),
    ],
)
def test_broken_feature_map(fault, promise):
    with pytest.raises(AssertionError, match=promise):
        check_feature_map(Wrapped(fault))


def test_feature_map_of_columns():
    check_feature_map(Wrapped())


def test_poor_approximation():
    with pytest.raises(AssertionError, match="approximates"):
        check_feature_map(RandomFourier(n_components=10), max_error=0.01)


class Sloppy(Solver):
    """The direct solver, up to a fault."""

    def __init__(self, fault=None):
        self.fault = fault

    def solve(self, problem, context=LOCAL):
        rows = problem.rows
        if self.fault == "refusal" and problem.loss != squared:
            raise ValueError("no.")
        if self.fault == "weights":
            rows = rows.with_targets(lambda y, weight: (y, None))
        if self.fault == "penalty":
            problem = replace(problem, penalty=None)
        solution = direct.solve(replace(problem, rows=rows), context)
        scale = {"monitor": 2}.get(self.fault, 1)
        for _ in range({"monitor": 1, "deaf": 2}.get(self.fault, 0)):
            if problem.monitor is not None:
                problem.monitor(scale * solution.coef, solution.intercept)
        wrong = {
            "stops early": {"coef": 0.99 * solution.coef},
            "intercept": {"intercept": solution.intercept + 1},
            "history": {"history": solution.history + 1},
            "silent": {"message": ""},
            "single": {"coef": solution.coef.astype(np.float32)},
            "fails": {"status": Status.MAX_ITER},
            "deaf": {"history": solution.history.repeat(2)},
            "sparse": {"coef": solution.coef * (0.9 if is_sparse(rows) else 1)},
            "threads": {"coef": solution.coef + 1e-12 * (context.n_jobs == 2)},
            "start": {"n_iter": 1 + (problem.start is not None)},
            "memory": {"coef": solution.coef * (1 if problem.memory_limit is None else 0.9)},
            "codes": {"coef": solution.coef * (0.9 if is_coded(rows) else 1)},
        }
        return replace(solution, **wrong.get(self.fault, {}))


def is_sparse(rows):
    return sparse.issparse(next(rows.blocks()).X)


def is_coded(rows):
    return isinstance(next(rows.blocks()).X, Codes)


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        ("weights", "gradient"),
        ("penalty", "gradient"),
        ("stops early", "gradient"),
        ("intercept", "the gradient with respect to .* is zero"),
        ("history", "history"),
        ("silent", "with a message"),
        ("fails", "the solver converged"),
        ("single", "gradient|float64"),
        ("sparse", "same solution with sparse rows"),
        ("threads", "bit-equal for any number of threads"),
        ("start", "a start at the solution does not take more iterations"),
        ("monitor", "a monitor sees the current coefficients"),
        ("deaf", "a monitor stops the solver"),
        ("codes", "same solution with codes"),
        ("memory", "same solution with a memory limit of 16000 bytes"),
        ("refusal", r"unsupported loss names Hinge\(\)"),
    ],
)
def test_broken_solver(fault, promise):
    with pytest.raises(AssertionError, match=promise):
        check_solver(Sloppy(fault))


class Kinked(Solver):
    """Dual coordinate descent, up to a fault."""

    def __init__(self, factor=1.0, shift=0.0):
        self.factor = factor
        self.shift = shift

    def solve(self, problem, context=LOCAL):
        solution = DualCD(tol=1e-9).solve(problem, context)
        coef, intercept = self.factor * solution.coef, solution.intercept + self.shift
        return replace(solution, coef=coef, intercept=intercept)


@pytest.mark.parametrize(
    ("solver", "loss"),
    [(Kinked(0.8), hinge), (Kinked(0.9999), multiclass_hinge), (Kinked(shift=1e-3), quantile)],
    ids=repr,
)
def test_broken_solver_of_a_loss_with_kinks(solver, loss):
    with pytest.raises(AssertionError, match=r"not lower at nearby points|the dual problem; rel"):
        check_solver(solver, loss)


def test_parts_are_left_as_they_were():
    kernel = Gaussian(gamma="scale")
    check_kernel(kernel)
    assert repr(kernel) == repr(clone(kernel)) == "Gaussian()"
    check_solver(Sloppy(), squared)
