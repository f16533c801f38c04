"""Section of a run against another: verdicts, ratios and their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from costlab.comparison.difference import CANNOT_TELL, FALSE_ALARMS, FASTER, SAME, SLOWER
from costlab.comparison.runs import RunComparison, RunPoint
from costlab.i18n import _
from costlab.reporting.document import (
    BAD,
    GOOD,
    QUIET,
    Block,
    Cell,
    Entry,
    Facts,
    Notes,
    Section,
    Table,
)
from costlab.reporting.tables import short_name, sizes_text
from costlab.units import format_percent, format_value

_TONES = {FASTER: GOOD, SLOWER: BAD, SAME: "", CANNOT_TELL: QUIET}
_WORDS = {FASTER: _("faster"), SLOWER: _("slower"), SAME: _("same"), CANNOT_TELL: _("cannot tell")}
_REASONS = {
    "too few processes": _("too few processes"),
    "noise": _("noise"),
    "drift": _("drift"),
    "too few processes for so many points": _("too few processes for so many points"),
}


def runs_section(comparison: RunComparison) -> Section:
    """Points of both runs side by side, and what the verdicts rest on."""
    counts = comparison.counts()
    facts = tuple((str(counts[name]), _WORDS[name], "") for name in _TONES)
    ordered = sorted(
        comparison.points, key=lambda p: (p.architecture, p.mode, sorted(p.sizes.items()))
    )
    rows = tuple(_row(point) for point in ordered)
    columns = (
        _("program"), _("mode"), _("sizes"), _("against"), _("run"), _("ratio"), _("interval"),
        _("verdict"), _("peak memory"),
    )  # fmt: skip
    caption = _("Medians of process medians; ratios are {run} over {against}.").format(
        run=comparison.run, against=comparison.against
    )
    flags = dict.fromkeys(
        flag for p in comparison.points for flag in (*_flags(p.against), *_flags(p.run))
    )
    if flags:
        caption += " " + _("* flagged: {flags}.").format(flags=", ".join(flags))
    blocks: list[Block] = [
        Facts(facts),
        Table(columns, rows, "lllrrrrlr", caption),
        Notes(_("What the verdicts rest on"), tuple(_notes(comparison))),
    ]
    for title, labels in (
        (_("Only in {run}").format(run=comparison.run), comparison.only_run),
        (_("Only in {run}").format(run=comparison.against), comparison.only_against),
    ):
        if labels:
            blocks.append(Notes(title, labels))
    return Section(_("Run against run"), tuple(blocks))


def _row(point: RunPoint) -> tuple[Entry, ...]:
    found = point.difference
    times = tuple(
        format_value(side["time_s"], "s") + (" *" if _flags(side) else "")
        if side.get("time_s") is not None
        else str(side.get("status", "n/a"))
        for side in (point.against, point.run)
    )
    if found is None:
        verdict = (Cell("n/a", QUIET), Cell("", QUIET), Cell(_WORDS[CANNOT_TELL], QUIET))
    else:
        word = _WORDS[found.verdict]
        if found.reason:
            word += f" ({_REASONS[found.reason]})"
        verdict = (
            Cell(f"{found.ratio:.3f}", _TONES[found.verdict]),
            Cell(f"{found.interval[0]:.3f} – {found.interval[1]:.3f}", QUIET),
            Cell(word, _TONES[found.verdict]),
        )
    return (
        short_name(point.architecture), point.mode, sizes_text(point.sizes), *times, *verdict,
        _peak(point.peak_ratio),
    )  # fmt: skip


def _flags(side: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(side.get("flags") or ())


def _peak(ratio: float | None) -> Cell:
    if ratio is None:
        return Cell("n/a", QUIET)
    if ratio == 1:
        return Cell(_("equal"), QUIET)
    sign = "+" if ratio > 1 else "−"
    return Cell(f"{sign}{format_percent(abs(ratio - 1))}", BAD if ratio > 1 else GOOD)


def _notes(comparison: RunComparison) -> list[str]:
    notes = [
        _(
            "At most {share} of runs of equal programs have a point called faster or slower by "
            "chance: exact rank tests of the process medians, corrected for {count} point(s)."
        ).format(share=format_percent(FALSE_ALARMS), count=len(comparison.points)),
    ]
    middle = comparison.middle_ratio()
    if middle is not None:
        notes.append(
            _(
                "The median ratio is {ratio}. What all points share may be the machine's state of "
                "the day as well as the program."
            ).format(ratio=f"{middle:.3f}")
        )
    if comparison.drift is None:
        notes.append(_("Too few points to judge how the machine drifted between the runs."))
    elif comparison.drift > 0:
        notes.append(
            _("Neighbouring points scatter by {share} more than their processes do; a verdict "
              "needs twice that.").format(share=format_percent(comparison.drift))
        )  # fmt: skip
    reasons = {point.difference.reason for point in comparison.points if point.difference}
    if "too few processes" in reasons:
        notes.append(
            _("Too few processes: it takes five on each side to tell a difference (profile with "
              "--budget measures up to 20).")
        )  # fmt: skip
    if "drift" in reasons:
        notes.append(
            _("Drift: times rose or fell in the order of measurement, or between the runs, by as "
              "much as the difference.")
        )  # fmt: skip
    if comparison.same_environment is False:
        notes.append(_("The runs come from different environments (versions or machine)."))
    return notes
