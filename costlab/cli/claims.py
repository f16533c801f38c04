"""``costlab claims``: what texts say about cost, answered now."""

from __future__ import annotations

import argparse

from costlab.cli.common import Subparsers, add_command, print_json
from costlab.i18n import _


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "claims",
        run,
        help=_("what texts say about cost: holds, holds if, or not here"),
        examples=["costlab claims", "costlab claims 14 21"],
    )
    parser.add_argument("numbers", nargs="*", type=int, metavar="N", help=_("only these"))


def run(args: argparse.Namespace) -> int:
    """Answer the claims; 1 if one fails."""
    from costlab.claims.api import answers
    from costlab.claims.record import FAILS

    found = answers(args.numbers)
    if args.json:
        print_json({"schema": "costlab.claims/1", "claims": [a.to_json() for a in found]})
    else:
        for item in found:
            print(f"{item.number:>2} {item.claim}")
            condition = f" {item.condition}" if item.condition else ""
            print(f"   {item.verdict}{condition} ({item.by})")
            print(f"   {item.shown}" + (f". {item.source}" if item.source else ""))
    return 1 if any(item.verdict == FAILS for item in found) else 0
