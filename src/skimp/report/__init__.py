"""Fitted models and comparisons as plots and pages; the only folder that imports matplotlib."""
