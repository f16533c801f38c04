"""README.md's table of what `make verify` found: a row per entry, each replaced on its own.

The table is its own record: rows of entries that were not checked this time stay as they are, and
the sums below are those of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.tables import README, markdown_table, rows_between, write_between
from costlab.arch import registry

_NAME = "verify"
_HEADER = (
    "entry", "programs", "classes", "runs equal", "peak equal", "torch's FLOP count", "claims",
    "core order", "derived in", "all in",
)  # fmt: skip
_FRACTIONS = {"runs equal": 3, "peak equal": 4, "claims": 6}


@dataclass(slots=True)
class Row:
    """What one class came out as; ``misses`` are sentences, empty when all is equal."""

    name: str
    domain: str
    derived: str
    equal: int
    peaks: int
    sizes: int
    torch_flop: str
    gaps: str
    order: str
    core: str
    misses: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A paper's claim beside the derived order, and whether they agree or the entry says why."""

    said: str
    agrees: bool
    explained: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one program came out as, and the processor seconds it took, deriving included."""

    rows: Sequence[Row]
    claims: Sequence[Claimed]
    derived_s: float
    took_s: float


def write(name: str, outcomes: Sequence[Outcome], path: Path = README) -> None:
    """Put the row of entry ``name`` into the table in the file at ``path``.

    Raises:
        ValueError: if the file does not have the table's markers.
    """
    rows = {**_read(rows_between(_NAME, path)), name: summary(name, outcomes)}
    write_between(_NAME, table([rows[n] for n in registry.names() if n in rows]), path)


def summary(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The cells of one entry: all its modes and options together."""
    rows = [row for outcome in outcomes for row in outcome.rows]
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    sizes = sum(row.sizes for row in rows)
    agreeing, explained = sum(c.agrees for c in claims), sum(c.explained for c in claims)
    said = f"{agreeing}/{len(claims)}" if claims else ""
    missed = sum(bool(row.misses) for row in rows)
    first = rows[0]
    return (
        name + (f" **{missed} MISSED**" if missed else ""),
        str(len(outcomes)),
        str(len(rows)),
        f"{sum(row.equal for row in rows)}/{sizes}",
        f"{sum(row.peaks for row in rows)}/{sizes}",
        "; ".join(dict.fromkeys(sorted(_verdict(row) for row in rows))),
        said + (f", {explained} explained" if explained else ""),
        f"`{first.core or first.order.split(' (')[0]}`",
        f"{sum(outcome.derived_s for outcome in outcomes):.1f} s",
        f"{sum(outcome.took_s for outcome in outcomes):.1f} s",
    )


def _verdict(row: Row) -> str:
    return row.torch_flop.split(":")[0]


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """The table in Markdown and the sums of its rows."""
    sums = {title: _summed(row[at] for row in rows) for title, at in _FRACTIONS.items()}
    done = {row[0].split()[0] for row in rows}
    left = [name for name in registry.names() if name not in done]
    counted = ", ".join(f"{title} {part} of {whole}" for title, (part, whole) in sums.items())
    programs, classes = (sum(int(row[at]) for row in rows) for at in (1, 2))
    derived, took = (sum(float(row[at].split()[0]) for row in rows) for at in (-2, -1))
    lines = [
        markdown_table(_HEADER, rows),
        "",
        f"{len(rows)} entries, {programs} programs, {classes} classes: {counted};"
        f" {took:.0f} s of processor time, {derived:.0f} s of it to derive.",
    ]
    if left:
        lines.append(f"Not run: {', '.join(left)}.")
    return "\n".join(lines)


def _summed(cells: Iterable[str]) -> tuple[int, int]:
    pairs = [cell.split(",")[0].split("/") for cell in cells if cell]
    return sum(int(part) for part, _ in pairs), sum(int(whole) for _, whole in pairs)


def _read(found: Iterable[tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """The rows that :func:`table` wrote, by entry; others are of an older table."""
    of_now = (cells for cells in found if len(cells) == len(_HEADER))
    return {cells[0].split()[0]: cells for cells in of_now}
