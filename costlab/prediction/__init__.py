"""Predictions: formulas times a machine. Time, memory, bounds, crossovers, ceilings, maps."""
