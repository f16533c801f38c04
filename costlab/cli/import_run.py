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
        examples=["costlab import run.json", "costlab import other-machine.sqlite"],
        json=False,
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help=_("a .json or .jsonl of `costlab export`, or a store"),
    )
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Read the file into the store; 0 also where nothing was new."""
    from costlab.store import Store
    from costlab.store.home import default_store
    from costlab.store.merge import import_file

    with Store(args.store or default_store()) as store:
        imported = import_file(store, args.file)
    for came in imported:
        print(_("{run}: {count} new point(s)").format(run=came.run, count=came.added))
        if came.torn:
            print(_("the last line of {file} is torn and was left out").format(file=args.file))
    return 0
