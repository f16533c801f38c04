"""Predictions, and measured points that are off by a known factor."""

from __future__ import annotations

from typing import Any

from costlab.formulas.record import Derivation
from costlab.prediction.api import predict
from costlab.prediction.record import Prediction
from tests.prediction.machines import flat_machine
from tests.prediction.programs import attention


def measured(
    prediction: Prediction, factor: float, *, peak: int | None = None, **more: Any
) -> dict[str, Any]:
    """A point of ``costlab profile``: the prediction's sizes, its time times ``factor``."""
    time_s = prediction.time_s * factor
    return {
        "architecture": prediction.architecture,
        "mode": prediction.mode,
        "dtype": prediction.dtype,
        "sizes": dict(prediction.sizes),
        "status": "ok",
        "time_s": time_s,
        "time_interval_s": [time_s * 0.99, time_s * 1.01],
        "peak_bytes": prediction.peak_bytes if peak is None else peak,
        "energy_j": None,
        "flags": [],
        **more,
    }


def predictions_over(values: list[int], program: Derivation | None = None) -> list[Prediction]:
    """Attention (or ``program``) at several lengths, b=1 and d=64."""
    machine = flat_machine(step_s=1e-9, spread={"": (0.79, 1.3)})
    program = program or attention()
    return [predict(program, {"b": 1, "n": v, "d": 64}, machine) for v in values]
