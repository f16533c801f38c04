"""``costlab report``: one record as a file in one of many formats."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from costlab.cli.common import (
    Progress,
    Subparsers,
    add_command,
    add_program,
    add_settings,
    add_store,
    check_output,
    parse_options,
)
from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.comparison.record import Comparison
    from costlab.formulas.record import Derivation


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "report",
        run,
        help=_("write a run's comparison or a module's formulas as .html, .md, .json or .csv"),
        examples=[
            "costlab report latest -o report.html",
            "costlab report full_attention --mode train -o formulas.md",
        ],
        json=False,
    )
    parser.add_argument(
        "source", metavar="SOURCE", help=_("a run, `latest`, an architecture, FILE.py:FACTORY")
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    add_program(parser, backend=True)
    add_settings(parser)
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file."""
    from costlab.reporting.api import check_format, report

    check_format(args.output)
    check_output(args.output)
    print(_("wrote {path}").format(path=report(_source(args), args.output)))
    return 0


def _source(args: argparse.Namespace) -> Comparison | Derivation:
    from costlab.arch import registry
    from costlab.cli.joined import compare_run, load_points
    from costlab.cli.programs import load_program

    progress = Progress(args.quiet)
    if ":" in args.source or args.source in registry.names():
        fixed, flags = parse_options(args.set)
        found = load_program(
            args.source,
            args.mode,
            args.dtype,
            args.backend,
            fixed=fixed,
            flags=flags,
            progress=progress,
        )
        progress.clear()
        return found
    name, points = load_points(args.store, args.source)
    return compare_run(name, points, progress)
