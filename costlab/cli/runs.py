"""``costlab runs``: what the store holds."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from costlab.cli.common import Subparsers, add_command, add_store, print_json, table
from costlab.i18n import _


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "runs",
        run,
        help=_("list the measured runs in the store"),
        examples=["costlab runs", "costlab runs --where"],
    )
    parser.add_argument("--where", action="store_true", help=_("print the store's path only"))
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """List the runs, oldest first."""
    from costlab.store import Store
    from costlab.store.home import default_store

    path = args.store or default_store()
    if args.where:
        print(path)
        return 0
    if path.exists():
        with Store(path, read_only=True) as store:
            found = store.runs()
    else:
        found = []
    if args.json:
        data = [asdict(info) for info in found]
        print_json({"schema": "costlab.runs/1", "store": str(path), "runs": data})
        return 0
    if not found:
        print(_("no runs in {path}; `costlab profile` measures one").format(path=path))
        return 0
    rows = [
        (info.run, info.created[:19].replace("T", " "), str(info.points), _programs(info.plan))
        for info in found
    ]
    print(table((_("run"), _("began (UTC)"), _("points"), _("of")), rows, right="llr"))
    return 0


def _programs(plan: object) -> str:
    points = plan.get("points", []) if isinstance(plan, dict) else []
    return ", ".join(dict.fromkeys(f"{point['target']} {point['mode']}" for point in points))
