"""Loads once what the measured passes of a mode need, and runs nothing. Needs torch."""

from __future__ import annotations

import gc
import importlib
import sys

_MODULES = ("costlab.measurement.cpu", "costlab.measurement.timed_pass")
# The first backward call of a process imports the symbolic shapes, and with them sympy.
_TRAIN = "torch.fx.experimental.symbolic_shapes"


def preload(mode: str = "forward") -> None:
    """Import what is not there yet and take it out of the garbage collector.

    A collection before each timing then has only the pass's own objects to look at.
    """
    needed = (*_MODULES, _TRAIN) if mode == "train" else _MODULES
    new = [name for name in needed if name not in sys.modules]
    for name in new:
        importlib.import_module(name)
    if new:
        gc.collect()
        gc.freeze()
