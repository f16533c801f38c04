"""A device profile of rates that were measured, as the TOML that ``--device FILE.toml`` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from costlab.hardware.calibration_record import CalibrationRecord

_SOURCE = "measured"


def profile_text(
    facts: Mapping[str, Any], records: Mapping[str, CalibrationRecord], power_w: float | None
) -> str:
    """The profile of the device that ``facts`` (see ``gpu_child``) describe.

    Rates are the best that any case of the calibration reached, so they bound a time no longer
    strictly: a shape that was not tried may be faster.

    Args:
        facts: name, number of multiprocessors, L2 and memory sizes.
        records: calibrations by dtype; float32 is needed.
        power_w: the driver's power limit, None if it could not be read.

    Raises:
        KeyError: if there is no float32 calibration.
    """
    device = facts.get("device") or {}
    plain = records["float32"]
    copies = [curve.points[-1][1] for name, curve in plain.bandwidth.items() if name == "copy"]
    title = str(device.get("name") or plain.environment.cpu)
    name = "-".join([*title.split(), "measured"])
    units = device.get("multi_processor_count") or plain.threads
    kind = "gpu" if device else "cpu"
    rates = {dtype: record.peak_flop_per_s for dtype, record in sorted(records.items())}
    lines = [
        "# Written by `python -m benchmarks.gpu_check`: rates as measured, not as published.",
        'schema = "costlab.device/1"',
        f"name = {_text(name)}",
        f"title = {_text(title + ', measured')}",
        f'kind = "{kind}"',
        f'backend = "{"cuda" if device else "cpu"}"',
        'notes = ["best rates of a calibration: another shape may be a little faster"]',
        "",
        "[device]",
        f"units = {_constant(units)}",
        *([f"power = {_constant(power_w)}"] if power_w else []),
        "",
        "[matrix]",
        *(f"{dtype} = {_constant(rate)}" for dtype, rate in rates.items()),
        "",
        "[vector]",
        f"float32 = {_constant(rates['float32'], 'the float32 matmul rate, without TF32')}",
        "",
        "[memory]",
        f"bandwidth = {_constant(max(copies), 'read and written, the largest copy')}",
        *([f"capacity = {_constant(device['total_memory'])}"] if device else []),
        *([f"cache = {_constant(device['L2_cache_size'])}"] if device else []),
        "",
        f"[sources.{_SOURCE}]",
        f"title = {_text(_provenance(facts, plain))}",
        f"read = {_text(plain.date[:10])}",
    ]
    return "\n".join(lines) + "\n"


def _constant(value: float, note: str = "") -> str:
    text = f'value = {float(value):.6g}, source = "{_SOURCE}"'
    return "{ " + text + (f", note = {_text(note)}" if note else "") + " }"


def _text(value: str) -> str:
    """A TOML string; JSON's are among them."""
    return json.dumps(value)


def _provenance(facts: Mapping[str, Any], record: CalibrationRecord) -> str:
    gpus = ", ".join(f"{gpu.name} with driver {gpu.driver}" for gpu in record.environment.gpus)
    parts = (
        "costlab calibrate", f"level {record.level}", f"torch {record.versions['torch']}",
        f"CUDA {facts.get('cuda')}", gpus or "no GPU listed by NVML",
        f"environment {record.environment.id}",
    )  # fmt: skip
    return "; ".join(parts)
