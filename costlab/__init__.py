"""CostLab: what a sequence architecture costs at a size, on a machine, and how that grows.

The public functions load their packages on first use, so ``import costlab`` needs neither torch
nor Qt.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from costlab.comparison.api import compare
    from costlab.derivation.api import derive
    from costlab.measurement.api import measure
    from costlab.planning.api import plan
    from costlab.prediction.api import predict
    from costlab.reporting.api import report

__version__ = "0.1.0"
__all__ = ["compare", "derive", "measure", "plan", "predict", "report"]

_HOMES = {
    "compare": "costlab.comparison.api",
    "derive": "costlab.derivation.api",
    "measure": "costlab.measurement.api",
    "plan": "costlab.planning.api",
    "predict": "costlab.prediction.api",
    "report": "costlab.reporting.api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'costlab' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
