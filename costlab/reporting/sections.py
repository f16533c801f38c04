"""Sections of a report from derivations, predictions and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from costlab.algebra import Expr
from costlab.comparison.record import AGREES, DIFFERS, ComparedPoint, Comparison
from costlab.figures.build import growth_figures
from costlab.formulas.document import machine_symbols, tie
from costlab.formulas.order import order
from costlab.formulas.record import CONVENTION, CostClass, Derivation
from costlab.i18n import _
from costlab.prediction.record import Prediction
from costlab.reporting.claims import claim_rows
from costlab.reporting.document import (
    BAD,
    GOOD,
    QUIET,
    Block,
    Cell,
    Entry,
    Facts,
    Figure,
    Notes,
    Section,
    Table,
)
from costlab.units import format_count, format_percent, format_value

_QUANTITIES = {
    "flop": _("FLOP"),
    "flop_useful": _("useful FLOP"),
    "bytes": _("bytes moved"),
    "peak_bytes": _("peak bytes"),
    "saved_bytes": _("bytes saved for backward"),
    "state_bytes": _("state bytes"),
    "parameters": _("parameters"),
    "steps": _("dependent steps"),
}
_VERDICTS = {AGREES: GOOD, DIFFERS: BAD}


def formula_section(derivation: Derivation) -> Section:
    """Closed forms of the main class, their orders, the paper's claims, domain and gaps."""
    main = derivation.classes[0]
    rows: list[tuple[Entry, ...]] = []
    for name, label in _QUANTITIES.items():
        row = _formula_row(derivation, main, name, label)
        if row is not None:
            rows.append(row)
    blocks: list[Block] = [
        Table((_("quantity"), _("formula"), _("order")), tuple(rows), "lll")
    ]
    claims = claim_rows(derivation)
    if claims:
        blocks.append(
            Table(
                (_("paper's claim"), _("scope"), _("claimed"), _("derived"), _("verdict")),
                claims,
                "lllll",
                _("The order against what the paper says"),
            )
        )
    legend = [f"{symbol}: {meaning}" for symbol, meaning in derivation.symbols.items() if meaning]
    if legend:
        blocks.append(Notes(_("Symbols"), tuple(legend)))
    if derivation.gaps:
        blocks.append(Notes(_("Not counted: operators without a rule"), derivation.gaps))
    holds = ", ".join(str(condition) for condition in main.domain) or _("all sizes")
    return Section(
        title=_("Formulas of {name}, {mode}").format(
            name=short_name(derivation.architecture), mode=derivation.mode
        ),
        blocks=tuple(blocks),
        lead=_(
            "Derived from the operators that the module really runs, not typed in. They hold for: "
            "{domain}."
        ).format(domain=holds),
    )


def _formula_row(
    derivation: Derivation, item: CostClass, name: str, label: str
) -> tuple[Entry, ...] | None:
    quantity = item.cost.get(name)
    if quantity is None or quantity.expr is None or quantity.expr == 0:
        return None
    if name == "flop_useful" and quantity.expr == item.cost["flop"].expr:
        return None
    tied = tie(quantity.expr, derivation)
    growth = order(tied, item.domain, machine_symbols(tied))
    return (label, quantity.expr, growth if isinstance(growth, Expr) else str(growth))


def comparison_section(comparison: Comparison, title: str, lead: str = "") -> Section:
    """Points side by side, errors, exponents, crossovers and plots."""
    blocks: list[Block] = [Facts(_facts(comparison)), points_table(comparison.points)]
    blocks += [Figure(spec) for spec in growth_figures(comparison, "time")]
    blocks += [Figure(spec) for spec in growth_figures(comparison, "peak_bytes")]
    if comparison.exponents:
        blocks.append(exponents_table(comparison))
    if comparison.crossovers:
        blocks.append(_crossovers_table(comparison))
    if comparison.unmatched:
        blocks.append(Notes(_("Measured without a prediction"), comparison.unmatched))
    return Section(title, tuple(blocks), lead)


def points_table(points: Sequence[ComparedPoint]) -> Table:
    """One row per point: predicted and measured time and peak, and their errors."""
    rows = tuple(_point_row(point) for point in points)
    columns = (
        _("program"), _("mode"), _("sizes"), _("time predicted"), _("interval"),
        _("time measured"), _("error"), _("limited by"), _("peak predicted"), _("peak measured"),
        _("error"),
    )  # fmt: skip
    return Table(
        columns,
        rows,
        "lllrrrrlrrr",
        _("Predicted and measured; errors are relative to the measured value"),
    )


def _point_row(point: ComparedPoint) -> tuple[Entry, ...]:
    low, high = point.predicted["time_interval_s"]
    interval = "" if low is None or high is None else _span(low, high)
    measured_s = point.measured.get("time_s")
    status = point.measured.get("status", "ok")
    seen = format_value(measured_s, "s") if measured_s is not None else str(status)
    return (
        short_name(point.architecture),
        point.mode,
        sizes_text(point.sizes),
        format_value(point.predicted["time_s"], "s"),
        Cell(interval, QUIET),
        seen + (" *" if point.flags else ""),
        _error(point.ratio["time"], point.in_interval),
        point.predicted["limiter"],
        format_value(point.predicted["peak_bytes"], "B"),
        format_value(point.measured.get("peak_bytes"), "B"),
        _error(point.ratio["peak_bytes"], None),
    )


def _span(low: float, high: float) -> str:
    return f"{format_value(low, 's')} – {format_value(high, 's')}"


def _error(ratio: float | None, inside: bool | None) -> Cell:
    """A signed error; green inside the predicted interval, red outside."""
    if ratio is None:
        return Cell("n/a", QUIET)
    tone = "" if inside is None else GOOD if inside else BAD
    if ratio == 1:
        return Cell(_("exact"), GOOD)
    sign = "+" if ratio > 1 else "−"
    return Cell(f"{sign}{format_percent(abs(ratio - 1))}", tone)


def exponents_table(comparison: Comparison) -> Table:
    """How each metric grows with each size: predicted and measured slope, and the verdict."""
    rows: list[tuple[Entry, ...]] = []
    for e in comparison.exponents:
        predicted = "n/a" if e.predicted is None else f"{e.predicted:.2f}"
        interval = _("none") if e.interval is None else f"{e.interval[0]:.2f} – {e.interval[1]:.2f}"
        rows.append(
            (
                short_name(e.architecture),
                e.mode,
                _("{metric} in {variable}").format(
                    metric=_METRIC_NAMES[e.metric], variable=e.variable
                ),
                predicted,
                f"{e.measured:.2f}",
                interval,
                Cell(e.verdict, _VERDICTS.get(e.verdict, QUIET)),
            )
        )
    columns = (
        _("program"), _("mode"), _("growth"), _("exponent predicted"), _("measured"),
        _("95 % interval"), _("verdict"),
    )  # fmt: skip
    return Table(columns, tuple(rows), "lllrrrl", _("Exponents over the measured sizes"))


_METRIC_NAMES = {"time": _("time"), "peak_bytes": _("peak bytes")}


def _crossovers_table(comparison: Comparison) -> Table:
    rows = tuple(
        (
            short_name(c.a),
            short_name(c.b),
            c.variable,
            _size(c.predicted),
            _size(c.measured),
            Cell(c.verdict, _VERDICTS.get(c.verdict, QUIET)),
        )
        for c in comparison.crossovers
    )
    columns = (_("a"), _("b"), _("over"), _("predicted at"), _("measured at"), _("verdict"))
    return Table(columns, rows, "lllrrl", _("Where the order turns"))


def _size(value: float | None) -> str:
    return _("not in this range") if value is None else format_count(round(value))


def _facts(comparison: Comparison) -> tuple[tuple[str, str, str], ...]:
    facts: list[tuple[str, str, str]] = []
    time = comparison.overall.get("time")
    if time is not None:
        remark = _("worst {worst} of {count} points").format(
            worst=format_percent(time.max_ape), count=time.count
        )
        facts.append((format_percent(time.median_ape), _("median error of time"), remark))
        if time.in_interval is not None:
            inside = round(time.in_interval * time.count)
            facts.append(
                (f"{inside} / {time.count}", _("times inside the predicted interval"), "")
            )
    peak = comparison.overall.get("peak_bytes")
    if peak is not None:
        exact = sum(1 for p in comparison.points if p.ratio["peak_bytes"] == 1)
        facts.append(
            (
                format_percent(peak.max_ape),
                _("largest error of peak memory"),
                _("exact to the byte in {exact} of {count}").format(exact=exact, count=peak.count),
            )
        )
    agreed = [e for e in comparison.exponents if e.verdict == AGREES]
    if comparison.exponents:
        facts.append(
            (f"{len(agreed)} / {len(comparison.exponents)}", _("exponents agree"), "")
        )
    return tuple(facts)


def predictions_section(predictions: Sequence[Prediction], title: str) -> Section:
    """A table of predictions with intervals and limiters."""
    rows: list[tuple[Entry, ...]] = []
    for p in predictions:
        low, high = p.time_interval_s
        if low is None:
            interval = _("unknown")
        elif high is None:
            interval = _("at least this")
        else:
            interval = _span(low, high)
        rows.append(
            (
                short_name(p.architecture),
                p.mode,
                sizes_text(p.sizes),
                p.device,
                format_value(p.time_s, "s"),
                Cell(interval, QUIET),
                p.limiter,
                format_value(p.peak_bytes, "B"),
                format_value(p.flop, "FLOP"),
            )
        )
    columns = (
        _("program"), _("mode"), _("sizes"), _("device"), _("time"), _("interval"),
        _("limited by"), _("peak memory"), _("FLOP"),
    )  # fmt: skip
    table = Table(columns, tuple(rows), "llllrrlrr")
    return Section(title, (table, *assumption_notes(predictions)))


def assumption_notes(predictions: Sequence[Prediction]) -> list[Block]:
    """Assumptions and gaps of all predictions, each once."""
    assumptions = dict.fromkeys(text for p in predictions for text in p.assumptions)
    gaps = dict.fromkeys(gap for p in predictions for gap in p.gaps)
    blocks: list[Block] = []
    if assumptions:
        blocks.append(Notes(_("Assumptions"), tuple(assumptions)))
    if gaps:
        blocks.append(Notes(_("Not counted: operators without a rule"), tuple(gaps)))
    return blocks


def environment_section(facts: Mapping[str, Any]) -> Section:
    """What machine and which versions the numbers are from."""
    rows = tuple((name, str(value)) for name, value in facts.items())
    return Section(
        _("Machine and method"),
        (
            Table((_("what"), _("value")), rows, "ll"),
            Notes(_("Conventions"), (CONVENTION,)),
        ),
    )


def sizes_text(sizes: Mapping[str, int]) -> str:
    """ "b=2 n=512 d=256" with the widest numbers unbroken."""
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def short_name(architecture: str) -> str:
    """The name without the folder of a user's file."""
    return architecture.rsplit("/", 1)[-1]
