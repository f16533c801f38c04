"""Predicted against measured over a run, from the answer of ``costlab compare --json``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from costlab.i18n import _
from costlab.units import format_count, format_percent
from costlab_gui.model.jobs import Command

_METRICS = {"time": "time", "peak_bytes": "peak memory", "energy": "energy"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One row: what is compared, predicted, measured, and the verdict; ``group`` heads it."""

    group: str
    what: str
    predicted: str
    measured: str
    verdict: str


def compare_command(run: str, store: tuple[str, ...]) -> Command:
    """The job that compares a run with the predictions for it."""
    return Command(_("Comparing {run}").format(run=run), ("compare", run, "--json", *store))


def headline(answer: Mapping[str, Any]) -> str:
    """One line on the times of a run; "" where none has a prediction."""
    found = answer["summary"]["overall"].get("time")
    if not found or not found["count"]:
        return ""
    return _("Time of {count} points: error {median} median, {worst} at most, {bias}").format(
        count=found["count"], median=_share(found["median_ape"]), worst=_share(found["max_ape"]),
        bias=_bias(found["bias"]),
    )  # fmt: skip


def findings(answer: Mapping[str, Any], title: Callable[[str], str]) -> list[Finding]:
    """Errors, growth and crossovers as rows; ``title`` names a program."""
    summary = answer["summary"]
    own = {title(name): found for name, found in summary["architectures"].items()}
    groups = {_("all points"): summary["overall"], **own}
    rows = [_error(name, metric, one) for name, found in groups.items()
            for metric, one in found.items() if one["count"]]  # fmt: skip
    rows += [_growth(one, title) for one in answer["exponents"]]
    rows += [_crossover(one, title) for one in answer["crossovers"]]
    return rows


def _error(name: str, metric: str, found: Mapping[str, Any]) -> Finding:
    inside = found.get("in_interval")
    return Finding(
        _("Errors"),
        f"{name}, {_METRICS.get(metric, metric)}",
        _("{median} median, {worst} at most").format(
            median=_share(found["median_ape"]), worst=_share(found["max_ape"])
        ),
        _("{count} points").format(count=found["count"]),
        _bias(found["bias"]) if inside is None else _("{bias}, {share} in the interval").format(
            bias=_bias(found["bias"]), share=format_percent(round(inside, 2))
        ),
    )  # fmt: skip


def _growth(one: Mapping[str, Any], title: Callable[[str], str]) -> Finding:
    predicted, measured = one["predicted"], one["measured"]
    return Finding(
        _("Growth"),
        _("{name}, {metric} with {variable}").format(
            name=title(one["architecture"]), metric=_METRICS.get(one["metric"], one["metric"]),
            variable=one["variable"],
        ),
        "" if predicted is None else f"{one['variable']}^{predicted:.2f}",
        f"{one['variable']}^{measured:.2f}",
        one["verdict"],
    )  # fmt: skip


def _crossover(one: Mapping[str, Any], title: Callable[[str], str]) -> Finding:
    def at(value: float | None) -> str:
        if value is None:
            return _("none")
        return f"{one['variable']} = {format_count(round(value))}"

    return Finding(
        _("Crossovers"), _("{b} against {a}").format(a=title(one["a"]), b=title(one["b"])),
        at(one["predicted"]), at(one["measured"]), one["verdict"],
    )  # fmt: skip


def _bias(bias: float) -> str:
    if abs(bias) < 0.005:
        return _("no bias")
    side = _("too high") if bias > 0 else _("too low")
    return _("{share} {side}").format(share=_share(abs(bias)), side=side)


def _share(value: float) -> str:
    return format_percent(float(f"{value:.2g}"))
