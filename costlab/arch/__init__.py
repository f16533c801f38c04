"""The catalogue: one architecture per file, found by :mod:`costlab.arch.registry`."""
