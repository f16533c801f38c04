"""``costlab gui``: the desktop app, or one line about what it needs."""

from __future__ import annotations

import argparse

from costlab.cli.common import Subparsers, add_command
from costlab.errors import InputError
from costlab.i18n import _


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "gui",
        run,
        help=_("the desktop app: formula, prediction and measurement with sliders"),
        examples=["costlab gui", "costlab gui mine.costlab.json"],
        json=False,
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE",
        help=_("a session, a device profile, measurements, a module or a config"),
    )  # fmt: skip
    parser.add_argument(
        "--smoke", nargs="?", const="costlab-smoke.png", metavar="PNG",
        help=_("open, move a slider, save a picture, leave"),
    )  # fmt: skip
    parser.add_argument(
        "--theme", choices=("system", "dark", "light"), help=_("of this start (default: as chosen)")
    )


def run(args: argparse.Namespace) -> int:
    """Start the app in this process."""
    from importlib import import_module

    try:
        # By name: the core does not depend on the app.
        app = import_module("costlab_gui.app")
    except ImportError as error:
        raise InputError(
            _("the app is not installed"),
            given=str(error),
            advice=_("pip install 'costlab[gui]', or use the commands: costlab --help"),
        ) from None
    options = ["--smoke", args.smoke] if args.smoke else []
    options += ["--theme", args.theme] if args.theme else []
    code: int = app.main([*args.files, *options])
    return code
