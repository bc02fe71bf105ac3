"""What "auto" does: candidates, trials, limits, and the plan of a fit."""
