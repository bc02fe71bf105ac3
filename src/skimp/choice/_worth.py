"""When a larger model is worth its cost."""

PATIENCE, WORTH = 15.0, 0.2
"""What is minimised is error (seconds + 15)^0.2: a few seconds cost little, and where there are
many, twice the time has to buy 13 % less error."""
FIRST_ROWS, JUDGING_ROWS = 8192, 4096
"""Rows of the first trials, and rows that all trials are judged by, a fifth at most."""
FIRST_SIZE, FIRST_GRIDS = 512, 64
"""Landmarks or features of the first trials, and grids."""
LARGEST_SIZE, LARGEST_TRIAL = 2**14, 2**15
"""The most landmarks or features, and rows of the trials that they are tried on."""
TRIED = 0.5
"""Seconds of a trial over those of a fit to its rows."""


def price(error: float, seconds: float, n_rows: int) -> float:
    """Return what an error costs that is reached in some seconds; few rows have less patience."""
    patience = PATIENCE * min(1.0, (n_rows + 1000) / FIRST_ROWS)
    return error * float((seconds + patience) ** WORTH)
