"""Formulas against figures that others published or counted.

``python -m benchmarks.validate`` prints, per figure, what is published, what the formula gives and
the source; then thirteen small modules that everyday counters get wrong, derived and compared
with their true FLOP, forward and in training; then how many published counts of parameters,
states and training memory the planner's sums meet. ``--only`` takes ids or modules; ``--write``
puts the tables into README.md. Exit status 1 if one of them is not equal.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import costlab
from benchmarks.published import Published, published
from benchmarks.reference_sizes import FILES, tally
from benchmarks.tables import machine, markdown_table, write_between
from costlab.algebra import Expr
from costlab.formulas.document import tie
from costlab.formulas.simplify import pretty
from costlab.formulas.text import parse
from tests.reference import modules13

_FIGURES = ("what", "published", "the module's part beyond it", "formula gives", "", "source")
_MODULES = ("module", "forward", "", "train", "", "useful", "")


@dataclass(frozen=True, slots=True)
class Result:
    """One figure, as published and as derived."""

    row: Published
    expected: Expr
    derived: Expr

    @property
    def equal(self) -> bool:
        return self.expected == self.derived

    def cells(self) -> list[str]:
        row = self.row
        beyond = f"`{row.adds}`: {row.adds_why}" if row.adds_why else ""
        return [
            f"{row.architecture or row.config} {row.mode}: {row.what}",
            f"`{row.formula}`" if row.value is None else f"{row.value:,}",
            beyond,
            _text(self.derived),
            _verdict(self.equal),
            row.source,
        ]


def _text(expr: Expr) -> str:
    if expr.is_constant:
        return f"{expr.constant():,}"
    return f"`{pretty(expr)}`"


def _verdict(equal: bool) -> str:
    return "equal" if equal else "DIFFERS"


def figures(only: Sequence[str]) -> Iterator[Result]:
    """Every published figure, or those whose id is in ``only``."""
    for row in published():
        if not only or row.id in only:
            yield Result(row, row.expected(), row.derived())


def module(name: str) -> tuple[list[str], bool]:
    """Derive one of the thirteen and compare: its cells, and whether all are equal."""
    truth = {
        "forward": (modules13.TRUTH[name], "flop_matmul"),
        "train": (modules13.train_truth(name), "flop_matmul"),
        "useful": (modules13.USEFUL.get(name, modules13.TRUTH[name]), "flop_useful"),
    }
    cells, good = [name], True
    for column, (expected, quantity) in truth.items():
        mode = "train" if column == "train" else "forward"
        found = costlab.derive(getattr(modules13, name), mode=mode, prove=False)
        derived = tie(found.expression(quantity), found)
        equal = derived == parse(expected)
        good &= equal
        cells += [_text(derived), _verdict(equal)]
    return cells, good


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print, and write the tables if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validate", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="ids of figures, or modules")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    args = parser.parse_args(arguments)
    start = time.monotonic()
    found = list(figures(args.only))
    equal = sum(result.equal for result in found)
    modules = [module(name) for name in modules13.TRUTH if not args.only or name in args.only]
    good = sum(ok for _cells, ok in modules)
    tallies = [tally(name) for name in FILES] if not args.only else []
    counts = [item.cells() for item in tallies]
    missed = sum(len(item.missed) for item in tallies)
    text = "\n".join([
        markdown_table(_FIGURES, [result.cells() for result in found]),
        "",
        f"{equal} of {len(found)} published figures equal.",
        "",
        markdown_table(_MODULES, [cells for cells, _ok in modules]),
        "",
        f"{good} of {len(modules)} small modules that everyday counters get wrong equal,"
        " `flop_matmul` forward and in training, and `flop_useful`.",
        "",
        markdown_table(("file", "rows", "answered", "exact", "within tolerance", "missed",
                        "not answered", "do not recompute, apart"), counts),
        "",
        f"{machine()}; {time.monotonic() - start:.0f} s.",
    ])  # fmt: skip
    print(text)
    if args.write:
        write_between("validate", text)
    return int(equal < len(found) or good < len(modules) or missed > 0)


if __name__ == "__main__":
    sys.exit(main())
