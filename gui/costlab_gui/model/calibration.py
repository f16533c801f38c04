"""What is known of this machine: the calibration that predictions rest on, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from costlab.calibration.records import load_latest, staleness
from costlab.hardware.calibration_record import CalibrationRecord
from costlab.i18n import _
from costlab.units import format_percent
from costlab_gui.model.jobs import Command

FULL, QUICK = "full", "quick"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration for one device, thread count and dtype, in words.

    Attributes:
        text: when and how it was made, or that there is none.
        holds: whether predictions can rest on it.
        why: what has changed since, or what else is wrong; "" if nothing is.
    """

    text: str
    holds: bool
    why: str = ""


def calibration_of(device: str, threads: int, dtype: str) -> Calibration:
    """The calibration that predictions for these settings use."""
    for wanted in dict.fromkeys((dtype, "float32")):
        for count in dict.fromkeys((threads, 1)):
            record = load_latest(device, count, wanted)
            if record is not None:
                return Calibration(_text(record), True, _other(record, threads, dtype))
    stale = load_latest(device, threads, dtype, stale=True)
    if stale is None:
        return Calibration(
            _("This machine is not calibrated for {device}").format(device=device),
            False,
            _("without it there is no prediction to compare with"),
        )
    changes = ", ".join(staleness(stale))
    return Calibration(_text(stale), False, _("no longer holds: {changes}").format(changes=changes))


def calibrate_command(device: str, threads: int, dtype: str, level: str) -> Command:
    """The job that calibrates; ``level`` is ``FULL`` or ``QUICK``."""
    options = ("--quick",) if level == QUICK else ()
    return Command(
        title=_("Calibrating {device}").format(device=device),
        words=("calibrate", "--device", device, "--threads", str(threads), "--dtype", dtype,
               *options, "--json"),
        alone=True,
        kept=_("the calibration before it still counts"),
    )  # fmt: skip


def threads_text(count: int) -> str:
    """ "1 thread" or "4 threads"."""
    return _("1 thread") if count == 1 else _("{count} threads").format(count=count)


def _text(record: CalibrationRecord) -> str:
    made = datetime.fromisoformat(record.date).astimezone()
    parts = [
        _("Calibrated {date}").format(date=made.strftime("%Y-%m-%d %H:%M")),
        f"{record.device}, {record.dtype}",
        threads_text(record.threads),
        record.level,
    ]
    if record.residuals:
        errors = sorted(abs(one.predicted_s / one.measured_s - 1) for one in record.residuals)
        median = format_percent(float(f"{errors[len(errors) // 2]:.2g}"))
        parts.append(_("time error {error} median").format(error=median))
    return " · ".join(parts)


def _other(record: CalibrationRecord, threads: int, dtype: str) -> str:
    """What the record was not measured with."""
    if (record.threads, record.dtype) == (threads, dtype):
        return ""
    return _("not of {dtype} with {threads}, so times are transferred").format(
        dtype=dtype, threads=threads_text(threads)
    )
