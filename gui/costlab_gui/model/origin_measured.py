"""Where a measured number comes from: run, point, environment, samples, flags, interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from costlab.i18n import _
from costlab.units import UNITS, format_percent, format_value
from costlab_gui.model.origin import Origin
from costlab_gui.model.wording import Line, Section

_FIELDS: Mapping[str, str] = {"time": "time_s", "memory": "peak_bytes", "energy": "energy_j"}


def measured(point: Mapping[str, Any], quantity: str, title: str = "") -> Origin:
    """The origin of a measured number.

    Args:
        point: a stored point, as ``costlab profile --json`` prints it.
        quantity: a metric ("time") or a field of the point ("rss_peak_bytes").
        title: name of the program that people read; "" takes the point's own.
    """
    field = _FIELDS.get(quantity, quantity)
    value = point.get(field)
    sections = [
        Section(_("Point"), tuple(_identity(point))),
        Section(_("Samples"), tuple(_samples(point, field))),
    ]
    doubts = [Line("", flag.replace("_", " ")) for flag in point.get("flags", ())]
    doubts += [
        Line(name, reason) for name, reason in (point.get("reasons") or {}).items() if reason
    ]
    sections.append(
        Section(_("Flags"), tuple(doubts) or (Line("", _("none: nothing disturbed it")),))
    )
    return Origin(
        title=_("{quantity} of {name}, {mode}, {dtype}").format(
            quantity=field, name=title or point["architecture"], mode=point["mode"],
            dtype=point["dtype"],
        ),
        value=format_value(value, UNITS.get(field, "")),
        kind=_("measured"),
        sections=tuple(sections),
    )  # fmt: skip


def _identity(point: Mapping[str, Any]) -> Iterable[Line]:
    sizes = " ".join(f"{name}={value}" for name, value in point["sizes"].items())
    yield Line(_("sizes"), sizes)
    yield Line(_("device"), _("{device}, {threads} thread(s)").format(
        device=point.get("device", ""), threads=point.get("threads", "")
    ))  # fmt: skip
    for label, key in (
        (_("run"), "run"), (_("point"), "point"), (_("environment"), "environment"),
        (_("status"), "status"),
    ):  # fmt: skip
        if point.get(key):
            yield Line(label, str(point[key]))
    moments = point.get("timed_at") or ()
    if moments:
        at = datetime.fromtimestamp(max(moments), UTC)
        yield Line(_("timed"), f"{at:%Y-%m-%d %H:%M} UTC")


def _samples(point: Mapping[str, Any], field: str) -> Iterable[Line]:
    if field == "peak_bytes":
        yield Line("", _("most bytes of tensor storage alive at one moment of a run of its own"))
    if field != "time_s":
        return
    interval = point.get("time_interval_s")
    if interval:
        low, high = (format_value(bound, "s") for bound in interval)
        meaning = _("where the median of a second study of as many processes lies, 95 %")
        yield Line(_("interval"), f"{low} .. {high}: {meaning}")
    samples = point.get("samples") or ()
    if samples:
        yield Line(_("value"), _("median of the medians of {count} processes").format(
            count=len(samples)
        ))  # fmt: skip
        yield Line(_("each"), ", ".join(format_value(sample, "s") for sample in samples))
    if point.get("within_spread") is not None:
        yield Line(_("spread within a process"), format_percent(point["within_spread"]))
    if point.get("stopped"):
        yield Line(_("stopped because"), str(point["stopped"]).replace("_", " "))
