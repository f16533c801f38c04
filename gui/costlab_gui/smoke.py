"""A first use in a second: the example, one move of a slider, a picture."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from costlab.i18n import _
from costlab_gui.model.first_run import example
from costlab_gui.window import MainWindow

DONE, FAILED = 0, 1


def smoke(window: MainWindow, picture: Path) -> int:
    """Use ``window`` once and save ``picture``; 0 if all of it worked."""
    hub = window.hub
    hub.document.replace(example(hub.workspace))
    hub.change("", page="curves")
    hub.flush()
    QApplication.processEvents()
    before = window.grab().toImage()
    drag = hub.new_drag()
    for d in (640, 768, 1024):
        hub.change(_("set d"), drag=drag, sizes={"d": d})
        hub.flush()
        QApplication.processEvents()
    after = window.grab()
    window.close()
    if after.toImage() == before:
        print(_("costlab gui: the plot did not follow the slider"), file=sys.stderr)
        return FAILED
    if not after.save(str(picture)):
        print(_("costlab gui: cannot write {path}").format(path=picture), file=sys.stderr)
        return FAILED
    print(_("wrote {path}").format(path=picture))
    return DONE
