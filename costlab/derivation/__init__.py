"""Traces to symbolic programs to formulas: align, re-roll, fit, price, verify."""
