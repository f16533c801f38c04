"""Loads once what every measured pass needs, and runs nothing. Needs torch."""

from __future__ import annotations

import gc
import importlib

# The first backward call of a process imports the symbolic shapes, and with them sympy.
_MODULES = (
    "torch.fx.experimental.symbolic_shapes",
    "costlab.measurement.cpu",
    "costlab.measurement.timed_pass",
)


def preload() -> None:
    """Import the modules and take them out of the garbage collector.

    A collection before each timing then has only the pass's own objects to look at.
    """
    for name in _MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
