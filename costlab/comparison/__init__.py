"""Predictions joined with measured points: errors, exponents, crossovers, verdicts."""
