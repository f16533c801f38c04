"""``costlab diff``: the terms that came and went between two modules."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from costlab.cli.common import (
    Subparsers,
    add_command,
    add_program,
    add_settings,
    add_words,
    parse_options,
    print_json,
    require_targets,
    split_words,
)
from costlab.cli.progress import progress_of
from costlab.i18n import _
from costlab.symbols import single

if TYPE_CHECKING:
    from costlab.algebra import Expr
    from costlab.derivation.difference import QuantityDifference, Term


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "diff",
        run,
        help=_("symbolic difference of two modules: the terms that came and went"),
        examples=[
            "costlab diff full_attention flash_attention --mode train",
            "costlab diff full_attention my_model.py:build",
        ],
    )
    add_words(parser, "A B", _("two architectures or FILE.py:FACTORY"))
    add_program(parser, backend=True)
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Derive both and compare them."""
    from costlab.cli.points import own_grids
    from costlab.cli.programs import load_program, own_flags
    from costlab.derivation.difference import difference

    targets, words = split_words(args.words)
    require_targets(targets, 2, 2, _("two architectures or FILE.py:FACTORY"))
    fixed, flags = parse_options(args.set)
    fixed = {**single(words), **fixed}
    progress = progress_of(args)
    own, flagged = own_grids(targets, fixed), own_flags(targets, flags)
    a, b = (
        load_program(
            target,
            args.mode,
            args.dtype,
            args.backend,
            fixed=own[target],
            flags=flagged[target],
            progress=progress,
        )
        for target in targets
    )
    progress.clear()
    found = difference(a, b)
    if args.json:
        data = [_plain(one) for one in found]
        print_json({"schema": "costlab.diff/1", "a": targets[0], "b": targets[1], "cost": data})
        return 0
    print(f"- {targets[0]}\n+ {targets[1]}\n")
    for one in found:
        # Each moment's time is a maximum of its own: `crossover` compares them, no list of terms.
        if one.quantity != "time" and not (one.a is None and one.b is None):
            _show(one)
    return 0


def _show(one: QuantityDifference) -> None:
    from costlab.formulas.plain import formula

    if one.reason or one.equal:
        print(f"{one.quantity}: {one.reason or _('equal')}")
        return
    print(f"{one.quantity}:")
    for sign, exprs in (("-", one.alternatives_only_a), ("+", one.alternatives_only_b)):
        for expr in exprs:
            print(f"  {sign} {formula(expr)}")
    for sign, side, terms in (("-", "a", one.only_a), ("+", "b", one.only_b)):
        for term in terms:
            print(f"  {sign} {formula(term.side(side))}")
    for term in one.changed:
        print(f"  ~ {formula(term.side('a'))}  ->  {formula(term.side('b'))}")


def _plain(one: QuantityDifference) -> dict[str, Any]:
    def text(expr: Expr | None) -> str | None:
        return None if expr is None else str(expr)

    def sides(terms: tuple[Term, ...], which: str) -> list[str]:
        return [str(term.side(which)) for term in terms]

    return {
        "quantity": one.quantity,
        "equal": one.equal,
        "a": text(one.a),
        "b": text(one.b),
        "only_a": [*sides(one.only_a, "a"), *map(str, one.alternatives_only_a)],
        "only_b": [*sides(one.only_b, "b"), *map(str, one.alternatives_only_b)],
        "changed": [{"a": str(t.side("a")), "b": str(t.side("b"))} for t in one.changed],
        "reason": one.reason,
    }
