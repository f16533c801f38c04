"""``costlab import``: add an exported run to the store."""

from __future__ import annotations

import argparse
from pathlib import Path

from costlab.cli.common import Subparsers, add_command, add_store
from costlab.i18n import _


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "import",
        run,
        help=_("add an exported run to the store; what is there already is left alone"),
        examples=["costlab import run.json"],
        json=False,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help=_("a .json of `costlab export`"))
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Read the file into the store."""
    from costlab.store import Store
    from costlab.store.exchange import import_run
    from costlab.store.home import default_store

    with Store(args.store or default_store()) as store:
        name, added = import_run(store, args.file)
    print(_("{run}: {count} new point(s)").format(run=name, count=added))
    return 0
