"""Fitted models and comparisons as plots and pages; the only folder that imports matplotlib."""

from skimp.report._tradeoff import Panel, Point, draw_tradeoff

__all__ = ["Panel", "Point", "draw_tradeoff"]
