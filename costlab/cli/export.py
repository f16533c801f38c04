"""``costlab export``: one run as a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from costlab.cli.common import Subparsers, add_command, add_store, check_output
from costlab.i18n import _


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "export",
        run,
        help=_(
            "write a run to a file: .json and .jsonl keep everything, .csv and .parquet have a row "
            "for each point"
        ),
        examples=["costlab export latest -o run.json", "costlab export latest -o run.csv"],
        json=False,
    )
    parser.add_argument("run_name", metavar="RUN", help=_("name of a run, or `latest`"))
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file."""
    from costlab.cli.joined import run_name
    from costlab.store import Store
    from costlab.store.exchange import export_run
    from costlab.store.home import default_store

    check_output(args.output)
    with Store(args.store or default_store(), read_only=True) as store:
        export_run(store, run_name(store, args.run_name), args.output)
    print(_("wrote {path}").format(path=args.output))
    return 0
