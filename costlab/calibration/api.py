"""Calibrate a device: measure its rates in a child process and keep the record."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import costlab
from costlab.calibration.fit import tables, with_program_state, with_residuals
from costlab.calibration.gpu_suite import device_cases
from costlab.calibration.launches import launch_costs
from costlab.calibration.pricing import PricedOp
from costlab.calibration.records import load_latest, save, staleness
from costlab.calibration.suite import ROUNDS, Case
from costlab.calibration.timings import Overheads, TimedCase
from costlab.calibration.visits import Visit, times_alone
from costlab.calibration.widths import ragged_tables, unaligned_costs
from costlab.devices import fingerprint
from costlab.errors import InputError, MeasurementError
from costlab.graph import DTYPE_BYTES
from costlab.hardware.calibration_record import CalibrationRecord, Unaligned
from costlab.i18n import _
from costlab.measurement.point import PointSpec
from costlab.measurement.process import Cancelled, Child
from costlab.units import format_value

__all__ = ["calibrate", "load_latest", "staleness"]

# Seconds in which the worker measures; starting it and fitting take some seconds more.
_BUDGET_S = {"trial": 30.0, "quickest": 10.0, "quick": 34.0, "full": 160.0}
_TIMEOUT_FACTOR = 2.0
_STARTING_S = 90.0
_FITS = 2

Progress = Callable[[str, float], None]


def calibrate(
    device: str = "cpu",
    threads: int = 1,
    dtype: str = "float32",
    level: str = "quick",
    *,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    keep: bool = True,
) -> CalibrationRecord:
    """Measure a device's rates and launch costs.

    With one thread on a CPU the rates are of CPU time: what else runs on the machine meanwhile
    slows the calibration but hardly lowers its rates. Otherwise they are of wall time.

    Args:
        device: "cpu", "cuda" or "cuda:N".
        threads: threads of torch's operators.
        dtype: floating-point type of the kernels.
        level: "quickest" (about 10 s), "quick" (about 45 s), "full" (about 3 minutes), or "trial",
            which only shows that it works.
        progress: called with what is being done and the share that is done.
        cancelled: asked ten times a second.
        keep: whether to write the record to CostLab's data folder.

    Raises:
        InputError: for a bad device, dtype, thread count or level, or a device that is not there.
        MeasurementError: if the measuring process dies, takes too long, or is cancelled.
    """
    # A point without a program: checks device, dtype and threads as for any measurement.
    PointSpec("", {}, dtype=dtype, device=device, threads=threads)
    suite = device_cases(level, device)
    start = time.monotonic()
    request = {
        "device": device, "threads": threads, "dtype": dtype, "level": level,
        "seconds": _BUDGET_S[level], "parent": os.getpid(),
    }  # fmt: skip
    heard = _listen(request, len(suite), progress or (lambda _text, _share: None), cancelled)
    record = _fitted(
        CalibrationRecord(
            device=device,
            dtype=dtype,
            threads=threads,
            level=level,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            environment=fingerprint(),
            versions={
                "costlab": costlab.__version__,
                "torch": heard.torch,
                "numpy": metadata.version("numpy"),
            },
            shaped={},
            bandwidth={},
            launch_s={},
            step_s=0.0,
            notes=_notes(suite, heard),
        ),
        suite,
        heard,
    )
    record = replace(record, duration_s=time.monotonic() - start)
    if keep:
        save(record)
    return record


@dataclass(slots=True)
class _Heard:
    """What the worker has said so far."""

    ops: dict[int, tuple[PricedOp, ...]] = field(default_factory=dict)
    peak_bytes: dict[int, int] = field(default_factory=dict)
    visits: dict[int, list[Visit]] = field(default_factory=dict)
    skipped: dict[int, str] = field(default_factory=dict)
    overheads: list[Overheads] = field(default_factory=list)
    sweeps: dict[str, list[list[list[list[Visit]]]]] = field(default_factory=dict)
    torch: str = ""


def _fitted(record: CalibrationRecord, suite: Sequence[Case], heard: _Heard) -> CalibrationRecord:
    """``record`` with the rates, costs and residuals that follow from what was timed."""
    timed = [
        TimedCase(suite[index], heard.ops[index], times_s, heard.peak_bytes.get(index))
        for index, times_s in sorted(times_alone(suite, heard.visits).items())
    ]
    overheads = Overheads.quickest(heard.overheads)
    shaped, bandwidth = tables(timed, overheads.bare_s, overheads.bare_backward_s)
    ragged = {}
    if widths := heard.sweeps.get("widths"):
        ragged = dict(ragged_tables(widths, overheads.bare_s))
    unaligned: tuple[Unaligned, ...] = ()
    if results := heard.sweeps.get("results"):
        unaligned = unaligned_costs(
            results, overheads.bare_s, ragged.get("matmul", ()), DTYPE_BYTES[record.dtype]
        )
    record = replace(
        record,
        shaped=shaped,
        bandwidth=bandwidth,
        step_s=overheads.step_s,
        ragged=ragged,
        unaligned=unaligned,
    )
    # What is work is no launch, and how long work takes depends on the state of programs.
    for _turn in range(_FITS):
        record = replace(record, launch_s=launch_costs(overheads.programs, record))
        record = with_program_state(record, timed)
    return with_residuals(record, timed)


def _notes(suite: Sequence[Case], heard: _Heard) -> tuple[str, ...]:
    notes = [
        _("not measured: {name} {shape}: {reason}").format(
            name=suite[index].name, shape=suite[index].shape, reason=reason
        )
        for index, reason in heard.skipped.items()
    ]
    left = len(suite) - len(heard.visits) - len(heard.skipped)
    if left > 0:
        notes.append(
            _("{left} of {count} cases were left out: the time was over").format(
                left=left, count=len(suite)
            )
        )
    shared = sum(not any(one.alone for one in seen) for seen in heard.visits.values())
    if shared:
        notes.append(
            _("{shared} of {count} cases never had a core to themselves").format(
                shared=shared, count=len(suite)
            )
        )
    return tuple(notes)


def _listen(
    request: Mapping[str, Any], count: int, progress: Progress, cancelled: Cancelled | None
) -> _Heard:
    child = Child("costlab.calibration.worker", request["threads"])
    start = time.monotonic()
    deadline = start + _TIMEOUT_FACTOR * request["seconds"] + _STARTING_S
    heard = _Heard()
    answers = 0
    progress(_("starting"), 0.0)
    try:
        child.send(request)
        while (message := child.receive(deadline, cancelled)) is not None:
            if message["kind"] == "rejected":
                raise InputError(
                    message["message"], given=message["given"], allowed=message["allowed"],
                    advice=message["advice"],
                )  # fmt: skip
            if message["kind"] == "done":
                heard.torch = message["torch"]
                progress(_("done"), 1.0)
                return heard
            answers += 1
            _take(heard, message)
            spent_s = time.monotonic() - start
            share = max(answers / (ROUNDS * (count + 1)), spent_s / request["seconds"])
            share = min(share, 0.99)
            left_s = format_value(math.ceil(spent_s * (1 - share) / share), "s")
            progress(_("measuring rates, {time} left").format(time=left_s), share)
        raise MeasurementError(
            _("the calibration's process died"), given=child.complaint(),
            advice=_("run costlab doctor"),
        )  # fmt: skip
    except TimeoutError:
        raise MeasurementError(
            _("the calibration did not end in time"), given=f"level {request['level']}",
            advice=_("run `costlab calibrate --quickest`, or end what else runs here"),
        ) from None  # fmt: skip
    except InterruptedError:
        raise MeasurementError(_("the calibration was cancelled")) from None
    finally:
        child.close()


def _take(heard: _Heard, message: Mapping[str, Any]) -> None:
    if message["kind"] == "overheads":
        heard.overheads.append(
            Overheads.from_json({key: value for key, value in message.items() if key != "kind"})
        )
        return
    if message["kind"] in {"widths", "results"}:
        visits = [[[Visit(*one) for one in seen] for seen in sweep] for sweep in message["visits"]]
        heard.sweeps.setdefault(message["kind"], []).append(visits)
        return
    index = message["index"]
    if message["kind"] == "skipped":
        heard.skipped[index] = message["reason"]
        heard.visits.pop(index, None)
        return
    heard.visits.setdefault(index, []).append(Visit(message["time_s"], message["alone"]))
    if "ops" in message:
        heard.ops[index] = tuple(PricedOp.from_json(op) for op in message["ops"])
    if "peak_bytes" in message:
        heard.peak_bytes[index] = message["peak_bytes"]
