"""Sections of a report from derivations, predictions and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from costlab.algebra import Expr
from costlab.comparison.record import AGREES, Comparison
from costlab.figures.build import growth_figures, predicted_figures
from costlab.formulas.document import machine_symbols, tie, tied_domain
from costlab.formulas.order import order
from costlab.formulas.record import CONVENTION, CostClass, Derivation
from costlab.i18n import _
from costlab.prediction.record import Prediction
from costlab.reporting.claims import claim_rows
from costlab.reporting.document import (
    QUIET,
    Block,
    Cell,
    Entry,
    Facts,
    Figure,
    Notes,
    Order,
    Paragraph,
    Section,
    Table,
)
from costlab.reporting.tables import (
    crossovers_table,
    errors_table,
    exponents_table,
    points_table,
    short_name,
    sizes_text,
    span_text,
)
from costlab.units import format_percent, format_value

_QUANTITIES = {
    "flop": _("FLOP"),
    "flop_useful": _("matmul FLOP that the mask keeps"),
    "bytes": _("bytes moved"),
    "peak_bytes": _("peak bytes"),
    "saved_bytes": _("bytes saved for backward"),
    "state_bytes": _("state bytes"),
    "parameters": _("parameters"),
    "steps": _("dependent steps"),
}


def formula_section(derivation: Derivation) -> Section:
    """Closed forms of the main class, their orders, the paper's claims, domain and gaps."""
    main = derivation.classes[0]
    rows: list[tuple[Entry, ...]] = []
    for name, label in _QUANTITIES.items():
        row = _formula_row(derivation, main, name, label)
        if row is not None:
            rows.append(row)
    blocks: list[Block] = [Table((_("quantity"), _("formula"), _("order")), tuple(rows), "lll")]
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
    used = [name for name in derivation.symbols if name in {*derivation.sizes, "threads"}]
    legend = [f"{name} {derivation.symbols[name]}" for name in used if derivation.symbols[name]]
    if legend:
        blocks.append(Paragraph(_("Symbols: {list}.").format(list=", ".join(legend))))
    if derivation.gaps:
        blocks.append(Notes(_("Not counted: operators without a rule"), derivation.gaps))
    how = _("checked")
    if derivation.derived == "proved":
        how = _("proved by a symbolic run, and checked")
    others = _(" Other sizes have formulas of their own.") if derivation.classes[1:] else ""
    holds = ", ".join(str(condition) for condition in main.domain) or _("all sizes")
    return Section(
        title=_("Formulas of {name}, {mode}").format(
            name=short_name(derivation.architecture), mode=derivation.mode
        ),
        blocks=tuple(blocks),
        lead=_(
            "Derived from the operators that the module really runs, not typed in, and {how} "
            "against runs at {count} further sizes. They hold for: {domain}.{others}"
        ).format(how=how, count=len(main.verified_at), domain=holds, others=others),
    )


def _formula_row(
    derivation: Derivation, item: CostClass, name: str, label: str
) -> tuple[Entry, ...] | None:
    quantity = item.cost.get(name)
    if quantity is None or quantity.expr is None or quantity.expr == 0:
        return None
    if name == "flop_useful" and quantity.expr == item.cost["flop_matmul"].expr:
        return None
    tied = tie(quantity.expr, derivation)
    growth = order(tied, tied_domain(item.domain, derivation), machine_symbols(tied))
    return (label, quantity.expr, Order(growth) if isinstance(growth, Expr) else str(growth))


def comparison_section(comparison: Comparison, title: str, lead: str = "") -> Section:
    """Points side by side, errors, exponents, crossovers and plots."""
    blocks: list[Block] = [Facts(_facts(comparison)), points_table(comparison.points)]
    if comparison.overall:
        blocks.append(errors_table(comparison))
    blocks += [Figure(spec) for spec in growth_figures(comparison, "time")]
    blocks += [Figure(spec) for spec in growth_figures(comparison, "peak_bytes")]
    if comparison.exponents:
        blocks.append(exponents_table(comparison))
    if comparison.crossovers:
        blocks.append(crossovers_table(comparison))
    if comparison.unmatched:
        blocks.append(Notes(_("Measured without a prediction"), comparison.unmatched))
    return Section(title, tuple(blocks), lead)


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
            facts.append((f"{inside} / {time.count}", _("times inside the predicted interval"), ""))
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
        facts.append((f"{len(agreed)} / {len(comparison.exponents)}", _("exponents agree"), ""))
    return tuple(facts)


def predictions_section(predictions: Sequence[Prediction], title: str) -> Section:
    """A table of predictions with intervals and limiters, and their curves."""
    rows: list[tuple[Entry, ...]] = []
    for p in predictions:
        low, high = p.time_interval_s
        if low is None:
            interval = _("unknown")
        elif high is None:
            interval = _("at least this")
        else:
            interval = span_text(low, high)
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
    figures = [
        Figure(spec)
        for metric in ("time", "peak_bytes")
        for spec in predicted_figures(predictions, metric)
    ]
    return Section(title, (table, *figures, *assumption_notes(predictions)))


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
