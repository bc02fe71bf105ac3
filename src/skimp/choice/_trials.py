"""What trials found, and what was chosen by them."""

from dataclasses import dataclass
from typing import Any

from skimp.choice._candidates import Candidate
from skimp.choice._cost import Traits
from skimp.features import FeatureMap


@dataclass(frozen=True)
class Trial:
    """A model that was tried: what it was, and how well it did; see `Judgement`."""

    candidate: Candidate
    approximation: FeatureMap
    n_rows: int
    alpha: float
    error: float
    ranking: float
    rate: float
    half_error: float | None
    seconds: float
    traits: Traits

    def to_dict(self) -> dict[str, Any]:
        """Return names and numbers, for a certificate."""
        return {
            "map": type(self.approximation).__name__,
            "kernel": repr(getattr(self.approximation, "kernel", None)),
            "columns": self.candidate.scaling or "as given",
            "size": self.approximation.size,
            "rows": self.n_rows,
            "alpha": self.alpha,
            "error": self.error,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Choice:
    """The map and the penalty that trials chose, and why they stopped there.

    Attributes
    ----------
    approximation : FeatureMap
        The map, not fitted.
    alpha : float or None
        The penalty, None if it is left to the equations of all rows.
    trials : tuple of Trial
        The trials.
    reason : str
        Why there were no more.
    bytes : int
        The most that a trial was predicted to hold.
    n_rows : int or None
        Rows to fit to if a limit leaves no time or room for all of them.
    scaling : str
        How columns are scaled.
    """

    approximation: FeatureMap
    alpha: float | None
    trials: tuple[Trial, ...]
    reason: str
    bytes: int = 0
    n_rows: int | None = None
    scaling: str = ""
