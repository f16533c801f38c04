"""Readings in words and as curves: what each gauge of a device shows, or why it shows nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from costlab.devices.clocks import throttle_reasons
from costlab.devices.readings import Reading, Sample
from costlab.i18n import _
from costlab.units import format_count, format_percent, format_value

Point = tuple[float, float]
MISSING = "n/a"
# Two for each pixel or so of a small curve.
_MOST_POINTS = 120
_IDLE = 0x001
# What a user chose, or an idle chip, is no warning.
_WARNED = 0x004 | 0x008 | 0x020 | 0x040 | 0x080
_HOT_C = 100.0


@dataclass(frozen=True, slots=True)
class Gauge:
    """One quantity of a kind of device.

    Attributes:
        key: name of the reading.
        total: name of the reading that is its full scale; "" if there is none.
        top: full scale in the unit of the reading, where it is always the same.
    """

    key: str
    title: str
    total: str = ""
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A reading in words: the value, more on it, or ``MISSING`` and why; ``warn`` asks to look."""

    text: str
    detail: str = ""
    warn: bool = False

    @property
    def missing(self) -> bool:
        return self.text == MISSING


def gauges(kind: str) -> tuple[Gauge, ...]:
    """The gauges of a "cpu" or "gpu", in the order in which they are shown."""
    if kind == "cpu":
        return (
            Gauge("utilisation", _("Utilisation"), top=1.0),
            Gauge("memory_used", _("Memory"), "memory_total"),
            Gauge("load", _("Load")),
            Gauge("frequency", _("Clock")),
            Gauge("power", _("Power")),
            Gauge("temperature", _("Temperature"), top=_HOT_C),
        )
    return (
        Gauge("utilisation", _("Utilisation"), top=1.0),
        Gauge("memory_used", _("Memory"), "memory_total"),
        Gauge("power", _("Power"), "power_limit"),
        Gauge("temperature", _("Temperature"), top=_HOT_C),
        Gauge("sm_clock", _("SM clock"), "sm_clock_max"),
        Gauge("memory_clock", _("Memory clock"), "memory_clock_max"),
        Gauge("throttle", _("Throttling"), top=1.0),
    )


def say(gauge: Gauge, sample: Sample | None) -> Said:
    """What a gauge shows for one sample."""
    if sample is None:
        return Said(MISSING, _("no answer yet"))
    reading = sample.get(gauge.key)
    if reading.value is None:
        return Said(MISSING, reading.text)
    if gauge.key == "throttle":
        bits = int(reading.value)
        return Said(_throttle(bits), reading.source, bool(bits & _WARNED))
    text = value_text(reading)
    total = sample.get(gauge.total) if gauge.total else None
    if total is not None and total.value is not None:
        text = of_total(text, value_text(total))
    return Said(text, reading.source)


def points(gauge: Gauge, samples: Sequence[Sample]) -> tuple[Point, ...]:
    """(time, value) of the samples that have the reading; throttling is 1 or 0."""
    found = []
    for sample in samples:
        reading = sample.readings.get(gauge.key)
        if reading is not None and reading.value is not None:
            value = reading.value
            if gauge.key == "throttle":
                value = 1.0 if int(value) & _WARNED else 0.0
            found.append((sample.time_s, value))
    return _thinned(found)


def top(gauge: Gauge, samples: Sequence[Sample], shown: Sequence[Point]) -> float:
    """The value at the upper edge of a gauge's curve."""
    if gauge.top is not None:
        return gauge.top
    if gauge.total and samples:
        total = samples[-1].get(gauge.total).value
        if total:
            return total
    # A little air, so that a steady value is no line on the edge.
    return 1.25 * max((value for _time, value in shown), default=0.0) or 1.0


def nothing(samples: Sequence[Sample]) -> str:
    """Why a device has no reading at all; "" if it has one, or was not read yet."""
    if not samples:
        return ""
    readings = samples[-1].readings.values()
    texts = {one.text for one in readings}
    return texts.pop() if len(texts) == 1 and all(one.value is None for one in readings) else ""


def why_short(samples: Sequence[Sample]) -> str:
    """The reason of :func:`nothing` in two or three words."""
    reason = next(iter(samples[-1].readings.values())).reason if samples else ""
    short = {
        "no_library": _("no NVIDIA driver"),
        "no_driver": _("no NVIDIA driver"),
        "no_gpu": _("no GPU"),
        "no_binding": _("nvidia-ml-py is missing"),
        "gpu_lost": _("GPU lost"),
        "driver_mismatch": _("driver needs a reload"),
        "jetson": _("Jetson has no NVML"),
    }
    return short.get(reason, reason.replace("_", " "))


def one_line(sample: Sample | None) -> Said:
    """A GPU in one line: utilisation, memory, power, temperature, as far as they are known."""
    known = {gauge.key: gauge for gauge in gauges("gpu")}
    said = [say(known[key], sample) for key in ("utilisation", "memory_used", "power")]
    said.append(say(known["temperature"], sample))
    parts = [one.text for one in said if not one.missing]
    reasons = "\n".join(dict.fromkeys(one.detail for one in said if one.missing))
    throttled = say(known["throttle"], sample)
    if throttled.warn:
        parts.append(throttled.text)
    # A value and its unit stay on one line.
    text = " · ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)
    return Said(text or MISSING, reasons, throttled.warn)


def value_text(reading: Reading) -> str:
    """A reading's value with its unit, of a gauge."""
    if reading.value is None:
        return MISSING
    if reading.unit == "fraction":
        return format_percent(round(reading.value, 2))
    if reading.unit == "°C":
        return f"{format_count(round(reading.value))} °C"
    if reading.unit == "CPU":
        return format_count(round(reading.value, 2))
    return format_value(reading.value, reading.unit)


def of_total(value: str, total: str) -> str:
    """ "7.4 of 23 GiB": the unit once where both have the same."""
    number, _space, unit = value.rpartition(" ")
    if number and total.endswith(f" {unit}"):
        value = number
    return _("{value} of {total}").format(value=value, total=total)


def _throttle(bits: int) -> str:
    words = {
        "gpu_idle": _("idle"),
        "applications_clocks": _("application clocks"),
        "power_cap": _("power cap"),
        "hardware_slowdown": _("hardware slowdown"),
        "sync_boost": _("sync boost"),
        "software_thermal": _("too hot (driver)"),
        "hardware_thermal": _("too hot (hardware)"),
        "power_brake": _("power brake"),
        "display_clocks": _("display clocks"),
    }
    return ", ".join(words.get(name, name) for name in throttle_reasons(bits)) or _("none")


def _thinned(found: list[Point]) -> tuple[Point, ...]:
    """At most about ``_MOST_POINTS``: the lowest and the highest of every stretch of time.

    Stretches begin at fixed times, so that a curve does not change its shape as it moves on.
    """
    if len(found) <= _MOST_POINTS:
        return tuple(found)
    span = found[-1][0] - found[0][0]
    width = 2.0 ** math.ceil(math.log2(2 * span / _MOST_POINTS))
    kept: list[Point] = []
    for _start, stretch in groupby(found, key=lambda point: point[0] // width):
        points = list(stretch)
        kept.extend(sorted({min(points, key=_value), max(points, key=_value)}))
    return tuple(kept)


def _value(point: Point) -> float:
    return point[1]
