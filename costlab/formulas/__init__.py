"""Formulas as data: text, order, simplification, LaTeX, compiled functions, pruning, solving."""
