"""In a window of 1280 x 720 at twice the dots, no page cuts a label or a button."""

from __future__ import annotations

import json
import os
import subprocess
import sys

_CODE = """
import json
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel
from costlab_gui.build import build_window
from costlab_gui.pages.registry import titles
from costlab_gui.widgets.elided_label import ElidedLabel

app = QApplication(["costlab"])
window = build_window("light")
window.resize(1280, 720)
window.show()
cut, seen = [], {}
for key in titles():
    window.open_page(key)
    page = window.current_page
    loop = QEventLoop()
    clock = QTimer(interval=10)
    clock.timeout.connect(lambda: window.hub.idle.busy or loop.quit())
    clock.start()
    loop.exec()
    clock.stop()
    kinds = [one for kind in (QLabel, QAbstractButton) for one in page.findChildren(kind)]
    texts = [one for one in kinds if one.isVisible() and one.text()]
    seen[key] = len(texts)
    for one in texts:
        bends = isinstance(one, ElidedLabel) or (isinstance(one, QLabel) and one.wordWrap())
        if not bends and one.width() < one.sizeHint().width():
            cut.append(f"{key}: {one.text()}")
print(json.dumps({"cut": cut, "seen": seen, "ratio": window.grab().devicePixelRatio()}))
window.hub.document.mark_saved()
window.close()
"""


def test_no_page_cuts_its_texts() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _CODE],
        env={**os.environ, "QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])

    assert found["ratio"] == 2.0
    assert found["cut"] == []
    assert sum(found["seen"].values()) > 60, found["seen"]
