"""How good a model, a budget or a feature map is, and what a fit will cost."""
