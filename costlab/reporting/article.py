"""A sequential program against a parallel one: who wins on this machine, and why, computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costlab.algebra import Expr, exact_div
from costlab.errors import AlgebraError
from costlab.formulas.record import Derivation
from costlab.formulas.simplify import pretty
from costlab.hardware.machine import Machine
from costlab.i18n import _
from costlab.measurement.point import PointResult
from costlab.measurement.statistics import median
from costlab.prediction.record import Prediction
from costlab.prediction.width import Program, Turn, width_where_order_turns
from costlab.reporting.document import Block, Cell, Entry, Notes, Paragraph, Section, Table
from costlab.reporting.tables import sizes_text
from costlab.units import format_count, format_ratio, format_value

Side = tuple[Derivation, Prediction, PointResult]


@dataclass(frozen=True, slots=True)
class Contest:
    """Two programs at the same sizes: their numbers, and the explanation as text."""

    sizes: Mapping[str, int]
    sides: tuple[Side, Side]
    turn: Turn
    headline: str
    lines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "sizes": dict(self.sizes),
            "sides": [
                {"predicted": prediction.to_json(), "measured": point.to_json()}
                for _derivation, prediction, point in self.sides
            ],
            "turn": {
                "cheaper_alone": self.turn.cheaper_alone,
                "cheaper_wide": self.turn.cheaper_wide,
                "hands": self.turn.hands,
            },
            "headline": self.headline,
            "lines": list(self.lines),
        }


def explain(loop: Side, parallel: Side, machine: Machine, sizes: Mapping[str, int]) -> Contest:
    """Compare the two and work out at which machine width their order turns.

    Args:
        loop: the program whose steps wait for each other.
        parallel: the other.
        machine: where both were measured.
        sizes: the sizes of both.
    """
    turn = width_where_order_turns(_program(loop, machine), _program(parallel, machine))
    return Contest(
        sizes=sizes,
        sides=(loop, parallel),
        turn=turn,
        headline=_headline(loop, parallel),
        lines=_lines(loop, parallel, machine, turn),
    )


def contest_section(contest: Contest) -> Section:
    """The contest as a section: numbers, formulas, explanation."""
    rows: list[tuple[Entry, ...]] = []
    formulas: list[tuple[Entry, ...]] = []
    for derivation, prediction, point in contest.sides:
        name = factory(derivation.architecture)
        rows.append(
            (
                name,
                format_value(prediction.time_s, "s"),
                format_value(point.time_s, "s"),
                format_value(cold_s(point), "s"),
                format_value(prediction.flop, "FLOP"),
                "n/a" if prediction.steps is None else format_count(prediction.steps),
                Cell(prediction.limiter),
                format_value(prediction.peak_bytes, "B"),
                format_value(point.peak_bytes, "B"),
            )
        )
        for quantity, label in (("flop", _("FLOP")), ("steps", _("dependent steps"))):
            expr = derivation.classes[0].cost[quantity].expr
            if expr is not None:
                formulas.append((name, label, expr))
    columns = (
        _("program"), _("time predicted"), _("time measured"), _("first call"), _("FLOP"),
        _("dependent steps"), _("limited by"), _("peak predicted"), _("peak measured"),
    )  # fmt: skip
    blocks: tuple[Block, ...] = (
        Paragraph(contest.headline),
        Table(columns, tuple(rows), "lrrrrrlrr", sizes_text(contest.sizes)),
        Notes(_("Why"), contest.lines),
        Table((_("program"), _("quantity"), _("formula")), tuple(formulas), "lll"),
    )
    return Section(
        _("Is attention faster because it is parallel?"),
        blocks,
        _(
            "A popular benchmark times a recurrent cell in a Python loop and self-attention once, "
            "and credits parallelism. Here is what the formulas and this machine say."
        ),
    )


def cold_s(point: PointResult) -> float | None:
    """Median over fresh processes of the very first call, which the benchmark times."""
    first = [process.first_call_s for process in point.processes]
    return median(first) if first else None


def factory(target: str) -> str:
    """``FILE.py:FACTORY`` without the file."""
    return target.rsplit(":", 1)[-1]


def _program(side: Side, machine: Machine) -> Program:
    derivation, prediction, _point = side
    shares = prediction.shares
    # The prediction is for all hands of the machine; one alone does all of the work.
    work = (shares["compute"] + shares["memory"]) * machine.width
    chain = shares["launch"] + shares["latency"]
    return Program(factory(derivation.architecture), work, chain)


def _headline(loop: Side, parallel: Side) -> str:
    times = [(factory(d.architecture), point.time_s) for d, _prediction, point in (loop, parallel)]
    if any(time_s is None for _name, time_s in times):
        return _("One of the two could not be measured.")
    (fast, fast_s), (slow, slow_s) = sorted(times, key=lambda item: item[1] or 0.0)
    assert fast_s is not None and slow_s is not None
    predicted = min((loop, parallel), key=lambda side: side[1].time_s)
    right = factory(predicted[0].architecture) == fast
    return _(
        "Measured here, {fast} is {ratio} faster than {slow} ({fast_s} against {slow_s}); the "
        "prediction had the order {verdict}."
    ).format(
        fast=fast,
        slow=slow,
        ratio=format_ratio(slow_s / fast_s),
        fast_s=format_value(fast_s, "s"),
        slow_s=format_value(slow_s, "s"),
        verdict=_("right") if right else _("wrong"),
    )


def _lines(loop: Side, parallel: Side, machine: Machine, turn: Turn) -> tuple[str, ...]:
    a, b = loop[1], parallel[1]
    name_a, name_b = factory(a.architecture), factory(b.architecture)
    lines: list[str] = []
    if a.flop and b.flop:
        lines.append(
            _("{b} does {ratio} the arithmetic of {a}: {flop_b} against {flop_a}.").format(
                a=name_a,
                b=name_b,
                ratio=format_ratio(b.flop / a.flop),
                flop_a=format_value(a.flop, "FLOP"),
                flop_b=format_value(b.flop, "FLOP"),
            )
        )
    ratio = _matmul_ratio(loop[0], parallel[0])
    if ratio is not None:
        value = ratio.evaluate({**loop[0].complete(a.sizes), **parallel[0].complete(b.sizes)})
        lines.append(
            _("Of matrix products alone the ratio is {formula} = {value}.").format(
                formula=pretty(ratio), value=format_count(value)
            )
        )
    if a.steps and b.steps:
        lines.append(
            _("{a} is a chain of {steps_a} steps that wait for each other, {b} one of {steps_b}.")
            .format(a=name_a, b=name_b, steps_a=format_count(a.steps), steps_b=b.steps)
        )  # fmt: skip
    for name, prediction in ((name_a, a), (name_b, b)):
        total = sum(prediction.shares.values())
        shares = ", ".join(
            f"{limiter} {100 * seconds / total:.0f} %"
            for limiter, seconds in prediction.shares.items()
            if seconds >= 0.005 * total
        )
        lines.append(
            _("{name} is limited by {limiter} here ({shares}).").format(
                name=name, limiter=prediction.limiter, shares=shares
            )
        )
    cold_a, cold_b = cold_s(loop[2]), cold_s(parallel[2])
    if cold_a is not None and cold_b is not None:
        lines.append(
            _(
                "Timed as the benchmark does, by the first call of a fresh process, {a} takes "
                "{cold_a} and {b} {cold_b}."
            ).format(
                a=name_a,
                b=name_b,
                cold_a=format_value(cold_a, "s"),
                cold_b=format_value(cold_b, "s"),
            )
        )
    lines.append(_width_line(turn, machine))
    return tuple(lines)


def _matmul_ratio(loop: Derivation, parallel: Derivation) -> Expr | None:
    """FLOP of matrix products, parallel over loop; None where the quotient has no closed form."""
    above, below = (d.classes[0].cost["flop_matmul"].expr for d in (parallel, loop))
    if above is None or below is None or not below.terms:
        return None
    try:
        return exact_div(above, below)
    except AlgebraError:
        return None


def _width_line(turn: Turn, machine: Machine) -> str:
    if turn.hands is not None:
        return _(
            "On one core {alone} is the cheaper one. The order turns where {hands} cores like "
            "this machine's share the work (this run had {width}): the loop's chain takes as long "
            "however many there are."
        ).format(alone=turn.cheaper_alone, hands=f"{turn.hands:.3g}", width=machine.width)
    return _(
        "{alone} is the cheaper one already on one core, and stays so with any number of them: "
        "on this machine the loop's chain of launches outweighs the arithmetic it saves."
    ).format(alone=turn.cheaper_alone)
