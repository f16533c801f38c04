"""Tables of a comparison: points side by side, exponents, crossovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from costlab.comparison.laws import CONSTANT, FEWEST, LINEAR, Law
from costlab.comparison.record import (
    AGREES,
    CANNOT_TELL,
    DIFFERS,
    ComparedPoint,
    Comparison,
    Exponent,
)
from costlab.i18n import _
from costlab.reporting.document import BAD, GOOD, QUIET, Cell, Entry, Table
from costlab.units import format_count, format_percent, format_value

_VERDICTS = {AGREES: GOOD, DIFFERS: BAD}
_SMALL_ERROR = 0.2
_METRIC_NAMES = {"time": _("time"), "peak_bytes": _("peak bytes"), "energy": _("energy")}


def points_table(points: Sequence[ComparedPoint]) -> Table:
    """One row per point: predicted and measured time and peak, and their errors."""
    names = [*dict.fromkeys((point.architecture, point.mode) for point in points)]
    points = sorted(
        points,
        key=lambda p: (names.index((p.architecture, p.mode)), tuple(p.sizes.values())),
    )
    fixed = _common_sizes(points)
    columns = (
        _("program"), _("mode"), _("sizes"), _("time predicted"), _("interval"),
        _("time measured"), _("error"), _("limited by"), _("peak predicted"), _("peak measured"),
        _("error"),
    )  # fmt: skip
    caption = _("Predicted and measured; errors are relative to the measured value.")
    if fixed:
        caption += " " + _("At {sizes}.").format(sizes=sizes_text(fixed))
    if any(point.flags for point in points):
        flags = ", ".join(dict.fromkeys(flag for point in points for flag in point.flags))
        caption += " " + _("* flagged: {flags}.").format(flags=flags)
    rows = tuple(_point_row(point, fixed) for point in points)
    return Table(columns, rows, "lllrrrrlrrr", caption)


def _common_sizes(points: Sequence[ComparedPoint]) -> dict[str, int]:
    """Sizes that all of several points share."""
    if len(points) < 2:
        return {}
    first, *others = points
    return {
        name: value
        for name, value in first.sizes.items()
        if all(other.sizes.get(name) == value for other in others)
    }


def _point_row(point: ComparedPoint, fixed: Mapping[str, int]) -> tuple[Entry, ...]:
    low, high = point.predicted["time_interval_s"]
    interval = "" if low is None or high is None else span_text(low, high)
    measured_s = point.measured.get("time_s")
    status = point.measured.get("status", "ok")
    seen = format_value(measured_s, "s") if measured_s is not None else str(status)
    return (
        short_name(point.architecture),
        point.mode,
        sizes_text({k: v for k, v in point.sizes.items() if k not in fixed}),
        format_value(point.predicted["time_s"], "s"),
        Cell(interval, QUIET),
        seen + (" *" if point.flags else ""),
        _error(point.ratio["time"], point.in_interval),
        point.predicted["limiter"],
        format_value(point.predicted["peak_bytes"], "B"),
        format_value(point.measured.get("peak_bytes"), "B"),
        _peak_error(point),
    )


def _peak_error(point: ComparedPoint) -> Cell:
    """A relative error, or the bytes where it is too small to read as a percentage."""
    ratio = point.ratio["peak_bytes"]
    if ratio is None or ratio == 1 or abs(ratio - 1) > 1e-3:
        return _error(ratio, None)
    gap = point.predicted["peak_bytes"] - point.measured["peak_bytes"]
    return Cell(f"{'+' if gap > 0 else '−'}{format_value(abs(gap), 'B')}", GOOD)


def span_text(low: float, high: float) -> str:
    return f"{format_value(low, 's')} – {format_value(high, 's')}"


def _error(ratio: float | None, inside: bool | None) -> Cell:
    """A signed error; red outside the predicted interval, green if small and inside."""
    if ratio is None:
        return Cell("n/a", QUIET)
    tone = "" if inside is None else BAD if not inside else GOOD if _is_small(ratio) else ""
    if ratio == 1:
        return Cell(_("exact"), GOOD)
    sign = "+" if ratio > 1 else "−"
    return Cell(f"{sign}{format_percent(abs(ratio - 1))}", tone)


def _is_small(ratio: float) -> bool:
    return abs(ratio - 1) <= _SMALL_ERROR


def errors_table(comparison: Comparison) -> Table:
    """Errors of each metric, overall and by program: size, bias, and coverage of the intervals."""
    groups = [(_("all"), comparison.overall)]
    if len(comparison.architectures) > 1:
        groups += [(short_name(name), errors) for name, errors in comparison.architectures.items()]
    rows: list[tuple[Entry, ...]] = [
        (
            name,
            _METRIC_NAMES[metric],
            format_count(errors.count),
            format_percent(errors.median_ape),
            format_percent(errors.p90_ape),
            format_percent(errors.max_ape),
            _signed(errors.bias),
            "" if errors.in_interval is None else format_percent(errors.in_interval),
        )
        for name, found in groups
        for metric, errors in found.items()
    ]
    columns = (
        _("program"), _("metric"), _("points"), _("median error"), _("90 % below"), _("worst"),
        _("bias"), _("inside the interval"),
    )  # fmt: skip
    return Table(columns, tuple(rows), "llrrrrrr", _("Errors, relative to the measured value"))


def _signed(share: float) -> str:
    if share == 0:
        return format_percent(0)
    return ("+" if share > 0 else "−") + format_percent(abs(share))


def exponents_table(comparison: Comparison) -> Table:
    """How each metric grows with each size: predicted and measured slope, and the verdict."""
    rows: list[tuple[Entry, ...]] = []
    apart = _sizes_apart([e.fixed for e in comparison.exponents])
    for e in comparison.exponents:
        predicted = "n/a" if e.predicted is None else f"{e.predicted:.2f}"
        interval = _("none") if e.interval is None else f"{e.interval[0]:.2f} – {e.interval[1]:.2f}"
        rows.append(
            (
                short_name(e.architecture),
                e.mode,
                _("{metric} in {variable}").format(
                    metric=_METRIC_NAMES[e.metric], variable=e.variable
                )
                + _at({k: v for k, v in e.fixed.items() if k in apart}),
                predicted,
                f"{e.measured:.2f}",
                interval,
                Cell(_verdict_text(e), _VERDICTS.get(e.verdict, QUIET)),
                law_text(e.law, e.variable),
            )
        )
    columns = (
        _("program"), _("mode"), _("growth"), _("exponent predicted"), _("measured"),
        _("95 % interval"), _("verdict"), _("law of the measured values"),
    )  # fmt: skip
    return Table(columns, tuple(rows), "lllrrrll", _("Exponents over the measured sizes"))


def _sizes_apart(fixed: Sequence[Mapping[str, int]]) -> set[str]:
    """Sizes that stay the same along a row but differ between rows."""
    names = {name for sizes in fixed for name in sizes}
    return {name for name in names if len({s[name] for s in fixed if name in s}) > 1}


def _at(sizes: Mapping[str, int]) -> str:
    return " " + _("at {sizes}").format(sizes=sizes_text(sizes)) if sizes else ""


def _verdict_text(exponent: Exponent) -> str:
    """The verdict; one that noise forbids names the noise."""
    if exponent.verdict != CANNOT_TELL or exponent.noise is None:
        return exponent.verdict
    noise = format_percent(exponent.noise)
    return _("{verdict} (noise {noise})").format(verdict=exponent.verdict, noise=noise)


def law_text(law: Law | None, variable: str) -> str:
    """ "n^2 over an overhead that rules below n = 300", "undecided: n or n log n; n^1.1", ..."""
    if law is None:
        return _("fewer than {count} sizes").format(count=FEWEST)
    if law.model == CONSTANT:
        return _("constant") if law.decided else _("undecided")
    orders = [order.replace("n", variable) for order in law.orders]
    power = f"{variable}^{law.exponent:.2f}"
    text = orders[0] if law.decided else power
    if law.turn is not None:
        part = _("a linear part") if law.model == LINEAR else _("an overhead")
        text = _("{power} over {part} that rules below {variable} = {turn}").format(
            power=text, part=part, variable=variable, turn=format_count(round(law.turn))
        )
    if law.decided:
        return text
    choice = _(" or ").join(orders) or _("no single order")
    return _("undecided: {choice}; {power}").format(choice=choice, power=text)


def crossovers_table(comparison: Comparison) -> Table:
    apart = _sizes_apart([c.fixed for c in comparison.crossovers])
    rows = tuple(
        (
            short_name(c.a),
            short_name(c.b),
            c.variable + _at({k: v for k, v in c.fixed.items() if k in apart}),
            _size(c.predicted),
            _size(c.measured),
            Cell(_span(c.interval), QUIET),
            Cell(c.verdict, _VERDICTS.get(c.verdict, QUIET)),
        )
        for c in comparison.crossovers
    )
    columns = (
        _("a"), _("b"), _("over"), _("predicted at"), _("measured at"), _("interval"),
        _("verdict"),
    )  # fmt: skip
    return Table(columns, rows, "lllrrrl", _("Where the order turns"))


def _span(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return ""
    return " – ".join(format_count(round(end)) for end in interval)


def _size(value: float | None) -> str:
    return _("not in this range") if value is None else format_count(round(value))


def sizes_text(sizes: Mapping[str, int]) -> str:
    """ "b=2 n=512 d=256" with the widest numbers unbroken."""
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def short_name(architecture: str) -> str:
    """The name without the folder of a user's file."""
    return architecture.rsplit("/", 1)[-1]
