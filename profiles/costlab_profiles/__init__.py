"""Data that CostLab ships: hardware profiles, derived formulas and published numbers."""
