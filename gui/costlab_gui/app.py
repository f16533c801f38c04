"""Starts the app: checks what it needs, restores what was lost, shows the window."""

from __future__ import annotations

import argparse
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab_gui.display import missing

DONE, BAD_INPUT = 0, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app and return its exit code; 2 with one line where it cannot run."""
    parser = argparse.ArgumentParser(
        prog="costlab gui", description=_("Formula, prediction and measurement on one plot.")
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE",
        help=_("a session, a device profile, measurements, a module or a config"),
    )  # fmt: skip
    parser.add_argument(
        "--smoke", nargs="?", const=Path("costlab-smoke.png"), type=Path, metavar="PNG",
        help=_("open, move a slider, save a picture, leave"),
    )  # fmt: skip
    parser.add_argument(
        "--theme", choices=("system", "dark", "light"), help=_("of this start (default: as chosen)")
    )
    args = parser.parse_args(argv)
    reason = missing()
    if reason is not None:
        print(f"costlab gui: {reason}", file=sys.stderr)
        return BAD_INPUT
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QGuiApplication
    from PySide6.QtWidgets import QApplication

    from costlab_gui.build import build_window

    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(
        Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    )
    app = QApplication.instance() or QApplication(["costlab"])
    assert isinstance(app, QApplication)
    app.setApplicationName("CostLab")
    app.setDesktopFileName("costlab")
    window = build_window(args.theme)
    _report_defects(window.hub.tell)
    window.show()
    if args.smoke is not None:
        from costlab_gui.smoke import smoke

        return smoke(window, args.smoke)
    for name in args.files:
        window.files.take(name)
    window.offer_lost()
    return int(app.exec())


def _report_defects(tell: object) -> None:
    """Show defects in the app too: a windowed build has no terminal, and slots swallow them."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        from costlab_gui.model.messages import ERROR, Message

        text = "".join(traceback.format_exception(kind, error, trace))
        print(text, file=sys.stderr, end="")
        words = (
            str(error)
            if isinstance(error, CostLabError)
            else _("a defect: {what}").format(
                what=traceback.format_exception_only(kind, error)[-1].strip()
            )
        )
        if callable(tell):
            tell(Message(words, ERROR, text))

    sys.excepthook = hook
    threading.excepthook = lambda args: (
        hook(args.exc_type, args.exc_value, args.exc_traceback) if args.exc_value else None
    )


if __name__ == "__main__":
    sys.exit(main())
