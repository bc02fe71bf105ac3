"""Plot of the recall of hashings."""

from collections.abc import Mapping
from typing import Any, Self, final

from sklearn.base import clone

from skimp._params._rules import broken
from skimp.diagnostics import HashRecall, hash_recall
from skimp.features import KernelHash
from skimp.report._axes import draw_legend, draw_line, open_axes, require_kind, scale_axes

_OWNER = "HashRecallDisplay"


@final
class HashRecallDisplay:
    """Recall of hashings against the number of candidates.

    Parameters
    ----------
    recalls : HashRecall, or mapping from names to HashRecall
        Results of `skimp.diagnostics.hash_recall`.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure, Axes
        The figure that was drawn last, and its axes.

    Examples
    --------
    >>> import numpy as np
    >>> from skimp.features import KernelHash
    >>> from skimp.report import HashRecallDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> hashings = {f"{n} bits": KernelHash(n_bits=n, random_state=0) for n in (64, 256)}
    >>> display = HashRecallDisplay.from_data(hashings, X, candidates=[10, 100])
    >>> display.to_frame()["hashing"].tolist()
    ['64 bits', '64 bits', '256 bits', '256 bits']
    """

    def __init__(self, recalls: HashRecall | Mapping[str, HashRecall]):
        wording = "a HashRecall from skimp.diagnostics.hash_recall(hashing, X)"
        if not isinstance(recalls, Mapping):
            several = f"{wording}, or a mapping from names to them"
            require_kind(_OWNER, "recalls", recalls, HashRecall, several)
            recalls = {"hashing": recalls}
        if not recalls:
            raise broken(_OWNER, "recalls", "a nonempty mapping", recalls)
        for name, recall in recalls.items():
            require_kind(_OWNER, f"recalls[{name!r}]", recall, HashRecall, wording)
        self.recalls = recalls

    @classmethod
    def from_data(cls, hashings: Any, X: Any, **options: Any) -> Self:
        """Fit copies of hashings to rows and return the display of their recall.

        ``hashings`` is a `KernelHash`, or a mapping from names to several. The options are those of
        `skimp.diagnostics.hash_recall`.
        """
        if not isinstance(hashings, Mapping):
            hashings = {repr(hashings): hashings}
        wording = "a KernelHash, or a mapping from names to them"
        for hashing in hashings.values():
            require_kind(_OWNER, "hashings", hashing, KernelHash, wording)
        return cls({n: hash_recall(clone(h).fit(X), X, **options) for n, h in hashings.items()})

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame, one row per hashing and number of candidates."""
        import pandas as pd

        frames = {name: recall.to_frame() for name, recall in self.recalls.items()}
        return pd.concat(frames, names=["hashing", None]).reset_index(level=0)

    def plot(self, ax: Any = None) -> Self:
        """Draw the recall against the number of candidates, in a new figure or in ``ax``.

        Bars show one standard error.
        """
        (ax,) = open_axes(_OWNER, ax, 1, figsize=(6, 4.2))
        for number, (name, found) in enumerate(self.recalls.items()):
            draw_line(ax, number, name, found.candidates, found.recall, found.standard_error)
        first = next(iter(self.recalls.values()))
        across = f"candidates, of {first.n_rows:,} rows"
        up = f"share of the {first.n_neighbors} nearest rows found"
        scale_axes(ax, log_y=False, ylim=(0, 1.02), xlabel=across, ylabel=up)
        draw_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
