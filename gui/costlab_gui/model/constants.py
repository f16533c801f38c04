"""The constants of a machine that a time rests on, each with its source and date."""

from __future__ import annotations

from collections.abc import Iterable

from costlab.hardware.machine import Machine
from costlab.hardware.profile import Constant
from costlab.hardware.rates import CalibratedRates, DatasheetRates
from costlab.i18n import _
from costlab.prediction.timing import GroupTime
from costlab.units import format_percent, format_value
from costlab_gui.model.formula import operator_title, times_at
from costlab_gui.model.place import Place
from costlab_gui.model.wording import Line, Section, share_text

_SHOWN = 8


def constants_of(place: Place) -> list[Section]:
    """Sections on rates and overheads; none without sizes or a machine."""
    machine = place.machine
    if place.problem or machine is None:
        return []
    times = times_at(place)
    groups = sorted(times.groups, key=lambda g: -float(g.work_s + g.launch_s))
    total = float(times.total_s)
    rates = [_rate(group, place, total) for group in groups[:_SHOWN]]
    if len(groups) > _SHOWN:
        rest = sum(float(g.work_s + g.launch_s) for g in groups[_SHOWN:])
        rates.append(
            Line(
                _("{count} more").format(count=len(groups) - _SHOWN),
                _("{time} together").format(time=format_value(rest, "s")),
            )
        )
    return [
        Section(_("Rates at these shapes"), tuple(rates)),
        Section(_("Constants and their sources"), tuple(_sources(machine))),
    ]


def _rate(group: GroupTime, place: Place, total: float) -> Line:
    """What an operator class does per call, how fast, and the time of all its calls."""
    work, seconds = float(group.work_s), float(group.work_s + group.launch_s)
    calls = float(group.calls)
    arithmetic = float(group.compute_s) >= float(group.memory_s)
    amount = group.group.flop if arithmetic else group.group.bytes
    size = float(amount.evaluate(place.sizes))
    unit = "FLOP" if arithmetic else "B"
    rate = calls * size / work if work else 0.0
    text = _("{calls} × {size} at {rate} + {launch} to start = {time} ({share})").format(
        calls=format_value(round(calls), ""),
        size=format_value(size, unit),
        rate=format_value(rate, f"{unit}/s") if rate else _("no cost"),
        launch=format_value(float(group.launch_s), "s"),
        time=format_value(seconds, "s"),
        share=share_text(seconds / total if total else 0.0),
    )
    return Line(operator_title(group.group.op), text)


def _sources(machine: Machine) -> Iterable[Line]:
    if isinstance(machine.rates, CalibratedRates):
        yield from _calibrated(machine, machine.rates)
    elif isinstance(machine.rates, DatasheetRates):
        for name, constant in machine.rates.profile.constants().items():
            if _used(name, machine.dtype, machine.rates):
                yield published(name, constant)


def _calibrated(machine: Machine, rates: CalibratedRates) -> Iterable[Line]:
    record = rates.record
    environment = record.environment
    yield Line(_("measured"), _("{date}, level {level}, {seconds} long").format(
        date=record.date.replace("T", " ")[:16], level=record.level,
        seconds=format_value(record.duration_s, "s"),
    ))  # fmt: skip
    yield Line(_("on"), f"{record.device}: {environment.cpu}, {record.threads} thread(s)")
    yield Line(_("environment"), environment.id)
    yield Line(_("with"), ", ".join(f"{k} {v}" for k, v in record.versions.items()))
    yield Line(_("best matmul rate"), format_value(record.peak_flop_per_s, "FLOP/s"))
    for phase, seconds in machine.launch_s.items():
        yield Line(
            _("an empty call, {phase}").format(phase=phase.replace("_", " ")),
            format_value(seconds, "s"),
        )
    yield Line(_("a dependent step more"), format_value(machine.step_s, "s"))
    yield Line(_("spread between rounds of the same timing"), format_percent(record.spread))


def _used(name: str, dtype: str, rates: DatasheetRates) -> bool:
    section, _dot, key = name.partition(".")
    if section in ("matrix", "vector"):
        known = rates.profile.matrix if section == "matrix" else rates.profile.vector
        return key == dtype or (dtype not in known and key == "float32")
    return name in ("bandwidth", "units")


def published(name: str, constant: Constant) -> Line:
    """A constant of a profile, called ``name`` there, with its source."""
    titles = {
        "units": _("units"), "bandwidth": _("memory bandwidth"), "matrix": _("matrix rate"),
        "vector": _("rate of other arithmetic"), "capacity": _("memory"), "power": _("power limit"),
        "link": _("link within a node"), "network": _("network of a device"),
        "per_node": _("devices of a node"),
    }  # fmt: skip
    section, _dot, dtype = name.partition(".")
    unit = constant.unit if constant.unit in ("FLOP/s", "B/s", "B", "W") else ""
    value = format_value(constant.value, unit) + ("" if unit else f" {constant.unit}")
    note = f" ({constant.note})" if constant.note else ""
    text = _("{value}, {source}, read {date}{note}").format(
        value=value, source=constant.source.title, date=constant.source.read, note=note
    )
    return Line(f"{titles[section]} {dtype}".strip(), text, constant.source.url)
