"""How long the app takes to start: ``python -m benchmarks.gui_start``.

Fresh processes, without a display; each is timed from before it starts to the end of the first
paint of the plot, and to the end of the paint that shows the first dragged value of n. Goals are
1.5 s and 2 s. Exit status 1 if a median misses one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

GOALS_S = {"first paint": 1.5, "first dragged value": 2.0}
_RUNS = 7


def start_once(home: str) -> dict[str, float]:
    """Seconds to each of ``GOALS_S`` in one fresh process."""
    begin = time.monotonic()
    variables = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "COSTLAB_HOME": home}
    # An installed package has its compiled files, and so has what was started before.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    found = subprocess.run(
        [sys.executable, "-m", "benchmarks.gui_start", "--child"],
        env=variables, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    moments: dict[str, float] = json.loads(found.stdout.splitlines()[-1])
    return {name: at - begin for name, at in moments.items()}


def child() -> None:
    """Start the app, drag once, print the moments (of the system's monotonic clock)."""
    from PySide6.QtCore import QEvent, QObject
    from PySide6.QtWidgets import QApplication

    from costlab_gui.build import build_window
    from costlab_gui.plot.canvas import Canvas
    from costlab_gui.widgets.sizes_panel import SizesPanel

    app = QApplication(["costlab"])
    moments: dict[str, float] = {}

    class Paints(QObject):
        """Notes paints of plots."""

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and isinstance(watched, Canvas):
                painted.append(watched)
            return False

    painted: list[QObject] = []
    window = build_window("dark")
    watcher = Paints()
    app.installEventFilter(watcher)
    window.show()
    while not painted:
        app.processEvents()
    moments["first paint"] = time.monotonic()
    panel = window.findChild(SizesPanel)
    assert panel is not None
    before = window.hub.session.sizes["n"]
    painted.clear()
    panel.control("n").slider.step(2.0)
    while not painted or window.hub.session.sizes["n"] == before:
        app.processEvents()
    moments["first dragged value"] = time.monotonic()
    app.removeEventFilter(watcher)
    window.close()
    print(json.dumps(moments))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print medians and ranges; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gui_start", description=__doc__)
    parser.add_argument("--runs", type=int, default=_RUNS)
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.child:
        child()
        return 0
    # The child, which is timed, needs none of these.
    from benchmarks.tables import machine, markdown_table, write_between
    from costlab.measurement.statistics import median

    with tempfile.TemporaryDirectory() as home:
        start_once(home)  # the first one reads files that are not in memory yet
        runs = [start_once(home) for _number in range(args.runs)]
    rows, met = [], True
    for name, goal in GOALS_S.items():
        times = sorted(run[name] for run in runs)
        middle = median(times)
        met = met and middle <= goal
        rows.append([name, f"<= {goal} s", f"{middle:.2f} s", f"{times[0]:.2f} to {times[-1]:.2f}"])
    text = markdown_table(("from process start to", "goal", "median", "range"), rows)
    text += f"\n\n{args.runs} starts. {machine()}."
    print(text)
    if args.write:
        write_between("gui-start", text)
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
