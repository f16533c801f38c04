"""What the parent asks a worker, and the errors a worker reports back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import costlab.errors
from costlab.errors import CostLabError, MeasurementError
from costlab.measurement.point import PointSpec


def request_of(kind: str, spec: PointSpec) -> dict[str, Any]:
    """The request of pass ``kind``; a file is named by its full path, as workers live elsewhere."""
    data = spec.to_json()
    path, colon, factory = spec.target.rpartition(":")
    if colon and path.endswith(".py"):
        data["target"] = f"{Path(path).resolve()}:{factory}"
    return {"pass": kind, "spec": data}


def error_from(message: Mapping[str, Any]) -> CostLabError:
    """The error that the worker reported, as the class it was raised as."""
    kind = getattr(costlab.errors, message["error"], MeasurementError)
    error = kind.__new__(kind)
    CostLabError.__init__(
        error,
        message["message"],
        given=message["given"],
        allowed=message["allowed"],
        advice=message["advice"],
    )
    assert isinstance(error, CostLabError)
    return error
