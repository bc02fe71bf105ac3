"""Approximations of KRLS: landmarks, a sketch, or a sample of the rows."""

from numbers import Integral
from typing import Any, ClassVar, final

import numpy as np

from skimp._core._types import Array
from skimp._core._work import DOUBLE
from skimp._params._parametrized import Parametrized
from skimp._params._rules import (
    FRACTION,
    NONE,
    Rule,
    broken,
    check_params,
    instance,
    integer,
    one_of,
)
from skimp.budgets import Selector, as_selector
from skimp.data import LOCAL, ArrayRows, Context, Rows
from skimp.effects._random_sums import SKETCHES, RandomSums, random_matrix
from skimp.features import FeatureMap, Landmarks
from skimp.kernels import Kernel

_SELECTORS = (
    "auto",
    "uniform",
    "column_subset",
    "dbh",
    "kmeans",
    "agglomerative",
    "leverage",
    "rpcholesky",
)
_SIZE = NONE | integer(at_least=1) | FRACTION


class Approximation(Parametrized):
    """An approximation with fewer basis functions than rows."""

    conditional: ClassVar[str]
    """What the standard errors are conditional on; {} stands for the size."""
    size: int | float | None

    def count(self, n_rows: int) -> int:
        size = min(max(100, n_rows // 10), 1000) if self.size is None else self.size
        if isinstance(size, Integral):
            return min(int(size), n_rows)
        return max(1, round(float(size) * n_rows))


@final
class Points(Approximation):
    """Kernel columns of a few landmarks; `skimp.KRLS` still fits all rows.

    ``KRLS(approximation=500)`` is short for ``Points("auto", 500)``.

    Parameters
    ----------
    selector : Selector or str, default="auto"
        How to choose the landmarks.
    size : int, float or None, default=None
        Number of landmarks, or a share of the rows. None is a tenth of the rows, at least 100 and
        at most 1,000.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KRLS
    >>> from skimp.effects import Points
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = KRLS(approximation=Points("kmeans", 0.2), random_state=0).fit(X, X[:, 0])
    >>> model.points_.shape
    (40, 2)
    """

    conditional = "the {:,} landmarks"
    rules: ClassVar[dict[str, Rule]] = {
        "selector": one_of(*_SELECTORS) | instance(Selector, "a selector"),
        "size": _SIZE,
    }

    def __init__(self, selector: Selector | str = "auto", size: int | float | None = None):
        self.selector = selector
        self.size = size

    def make_basis(
        self, rows: Rows, kernel: Kernel, rng: np.random.Generator, context: Context = LOCAL
    ) -> Landmarks:
        """Return the kernel columns of selected landmarks."""
        selector = as_selector(self.selector, owner="Points")
        budget = selector.select(rows, self.count(rows.n_rows), kernel, rng, context=context)
        return Landmarks(kernel, budget.points, DOUBLE, n_jobs=context.n_jobs)


@final
class Sketch(Approximation):
    r"""Random sums :math:`\sum_i S_{ji} k(\cdot, x_i)` of the kernel columns of all rows.

    `skimp.KRLS` fits all rows with them; see [1]_.

    Parameters
    ----------
    method : str, default="gaussian"
        Distribution of S. "gaussian": normal entries. "sign": 1 and -1. "achlioptas": two thirds of
        the entries are zero. "very_sparse": one in :math:`\sqrt n` entries is not zero.
        "subsampling": each sum is a single column.
    size : int, float or None, default=None
        Number of sums, or a share of the rows. None as for `Points`.

    References
    ----------
    .. [1] Y. Yang, M. Pilanci and M. J. Wainwright, "Randomized sketches for kernels: fast and
       optimal nonparametric regression", Annals of Statistics 45 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KRLS
    >>> from skimp.effects import Sketch
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = KRLS(approximation=Sketch("sign", 30), random_state=0).fit(X, X[:, 0])
    >>> model.coef_.shape
    (30,)
    """

    conditional = "{:,} random sums of columns"
    rules: ClassVar[dict[str, Rule]] = {"method": one_of(*SKETCHES), "size": _SIZE}

    def __init__(self, method: str = "gaussian", size: int | float | None = None):
        self.method = method
        self.size = size

    def make_basis(
        self, rows: Rows, kernel: Kernel, rng: np.random.Generator, context: Context = LOCAL
    ) -> RandomSums:
        """Return the random sums of the kernel columns of rows."""
        points = rows.collect().X
        mixing = random_matrix(self.method, len(points), self.count(rows.n_rows), rng)
        return RandomSums(kernel, points, mixing, context.n_jobs)


@final
class RowSample(Approximation):
    """A random sample of the rows, to which `skimp.KRLS` fits the exact model.

    Parameters
    ----------
    size : int, float or None, default=None
        Number of rows, or a share of them. None as for `Points`.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp import KRLS
    >>> from skimp.effects import RowSample
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> KRLS(approximation=RowSample(50), random_state=0).fit(X, X[:, 0]).coef_.shape
    (50,)
    """

    conditional = "the {:,} sampled rows"
    rules: ClassVar[dict[str, Rule]] = {"size": _SIZE}

    def __init__(self, size: int | float | None = None):
        self.size = size

    def draw(self, rows: Rows, seed: int, context: Context = LOCAL) -> tuple[Rows, Array]:
        """Return the sampled rows, and their numbers."""
        sample = rows.sample(self.count(rows.n_rows), seed, context)
        weight = None if rows.weights(context) is None else sample.weight
        return ArrayRows(sample.X, sample.y, weight), sample.indices


def as_approximation(given: Any, *, owner: str) -> Approximation | None:
    """Return the approximation that a parameter describes, None for the exact model."""
    found: Any = given
    if given is None:
        return None
    if Points.rules["selector"].test(given):
        found = Points(given)
    elif Sketch.rules["method"].test(given):
        found = Sketch(given)
    elif isinstance(given, str) and given == "sample":
        found = RowSample()
    elif integer(at_least=1).test(given):
        found = Points(size=given)
    elif isinstance(given, FeatureMap) and given.size_name == "budget":
        given.check()
        params = given.get_params(deep=False)
        found = Points(params.pop("selector"), params.pop("budget"))
        for name, value in params.items():
            if value is not None:
                raise broken(owner, f"{name} of approximation", "None", value)
    if not isinstance(found, Approximation):
        names = one_of("sample", *_SELECTORS, *SKETCHES).wording
        wording = f"None, an integer >= 1, {names}, a selector, a Nystroem or one of skimp.effects"
        raise broken(owner, "approximation", wording, given)
    check_params(found)
    return found
