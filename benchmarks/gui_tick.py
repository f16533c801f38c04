"""How long one move of a slider takes in the app: ``python -m benchmarks.gui_tick``.

Without a display: the size panel and the curves page with three plots of twelve programs, 256
sizes a curve, grid on. A tick begins when the slider is moved and ends when the last plot has been
painted. Goals are a median of 16 ms and a 95th percentile of 33 ms, and a 95th percentile of 33 ms
with 1 000 measured points. Exit status 1 if one is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.tables import machine, markdown_table, write_between

GOAL_MEDIAN_S, GOAL_P95_S = 0.016, 0.033
PROGRAMS, PANELS, TICKS, POINTS = 12, ("time", "memory", "flop"), 200, 1000
_DEVICE = "A100-80G-SXM"
_WARM = 20


@dataclass
class Shares:
    """Seconds of the parts of each tick."""

    evaluate: list[float] = field(default_factory=list)
    update: list[float] = field(default_factory=list)
    table: list[float] = field(default_factory=list)
    paint: list[float] = field(default_factory=list)
    tick: list[float] = field(default_factory=list)

    def row(self, name: str) -> tuple[str, ...]:
        """Medians of the parts, then median and 95th percentile of the whole, in milliseconds."""
        parts = (self.evaluate, self.update, self.table, self.paint, self.tick)
        return (
            name,
            *(f"{1e3 * percentile(part, 0.5):.1f}" for part in parts),
            f"{1e3 * percentile(self.tick, 0.95):.1f}",
        )


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of ``values`` do not exceed."""
    ordered = sorted(values)
    return ordered[min(round(share * (len(ordered) - 1)), len(ordered) - 1)]


def timed(function: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    """``function`` that adds its seconds to the last entry of ``spent``."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            if spent:
                spent[-1] += time.perf_counter() - begin

    return wrapped


def measure(ticks: int, points: int) -> Shares:
    """Drag the width for ``ticks`` steps with ``points`` measured points on the plots."""
    from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget

    from costlab_gui.hub import Hub
    from costlab_gui.model.document import Document
    from costlab_gui.model.session import Session, Setting
    from costlab_gui.model.workspace import Workspace
    from costlab_gui.pages import curves_page
    from costlab_gui.plot.canvas import Canvas
    from costlab_gui.plot.figure_view import FigureView
    from costlab_gui.theme.apply import apply
    from costlab_gui.theme.tokens import DARK
    from costlab_gui.widgets.log_slider import LogSlider
    from costlab_gui.widgets.sizes_panel import SizesPanel

    shares = Shares()
    # The parts are timed where they are called: names of modules and classes are replaced.
    module: Any = curves_page
    page_type: Any = curves_page.CurvesPage
    view_type: Any = FigureView
    graphics: Any = Canvas
    app = QApplication.instance() or QApplication(["costlab"])
    assert isinstance(app, QApplication)
    apply(app, DARK)
    workspace = Workspace()
    names = [entry.target for entry in workspace.entries() if "forward" in entry.modes]
    setting = Setting(device=_DEVICE)
    session = Session(programs=tuple(names[:PROGRAMS]), setting=setting, metrics=PANELS)
    hub = Hub(Document(session), workspace)
    saved = (module.panel, module.table, view_type.show_figure, graphics.paintEvent,
             page_type.measured)  # fmt: skip
    painted: set[int] = set()

    def paint(view: Any, event: Any) -> None:
        saved[3](view, event)
        painted.add(id(view))

    stored = measured_points(session, points)
    module.panel = timed(saved[0], shares.evaluate)
    module.table = timed(saved[1], shares.table)
    view_type.show_figure = timed(saved[2], shares.update)
    graphics.paintEvent = timed(paint, shares.paint)
    page_type.measured = property(lambda _page: stored)
    try:
        window = QWidget()
        row = QHBoxLayout(window)
        sizes, page = SizesPanel(hub), curves_page.CurvesPage(hub)
        row.addWidget(sizes)
        row.addWidget(page, 1)
        window.resize(1140, 800)
        window.show()
        app.processEvents()
        views = {id(page.views[metric]._graphics) for metric in PANELS}
        slider = next(
            s for s in sizes.findChildren(LogSlider) if s.accessibleName().startswith("d")
        )
        slider.setSliderDown(True)
        position, step = slider.sliderPosition(), 7
        while len(shares.tick) < ticks + _WARM:
            before = hub.session.sizes["d"]
            for part in (shares.evaluate, shares.update, shares.table, shares.paint):
                part.append(0.0)
            painted.clear()
            begin = time.perf_counter()
            slider.setSliderPosition(position)
            if hub.session.sizes["d"] != before:
                while not views <= painted:
                    app.processEvents()
                shares.tick.append(time.perf_counter() - begin)
            else:
                for part in (shares.evaluate, shares.update, shares.table, shares.paint):
                    part.pop()
            if not slider.minimum() < position + step < slider.maximum():
                step = -step
            position += step
        slider.setSliderDown(False)
        window.close()
    finally:
        module.panel, module.table, view_type.show_figure = saved[:3]
        graphics.paintEvent, page_type.measured = saved[3:]
        hub.closing.emit()
    for part in (shares.evaluate, shares.update, shares.table, shares.paint, shares.tick):
        del part[:_WARM]
    return shares


def measured_points(session: Any, count: int) -> tuple[dict[str, Any], ...]:
    """Points of the session's programs as a store holds them, along the x axis.

    They leave the dragged size out, so that they stay on the plots.
    """
    found = []
    for number in range(count):
        share = number / max(count, 1)
        n = round(session.low * (session.high / session.low) ** share)
        seconds = 1e-8 * n * (1 + number % 7)
        found.append(
            {
                "architecture": session.programs[number % len(session.programs)],
                "mode": "forward",
                "dtype": "float32",
                "sizes": {"n": n},
                "time_s": seconds,
                "time_interval_s": [0.9 * seconds, 1.1 * seconds],
                "peak_bytes": 1000 * n,
            }
        )
    return tuple(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the shares; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gui_tick", description=__doc__)
    parser.add_argument("--ticks", type=int, default=TICKS)
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    args = parser.parse_args(arguments)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as home:
        os.environ["COSTLAB_HOME"] = home
        plain, crowded = measure(args.ticks, 0), measure(args.ticks, POINTS)
    header = ("ms", "evaluate", "update", "read-out", "paint", "tick", "p95")
    rows = [
        plain.row(f"{PROGRAMS} curves on {len(PANELS)} plots"),
        crowded.row(f"with {POINTS} measured points"),
    ]
    goals = f"Goals: a tick of {1e3 * GOAL_MEDIAN_S:.0f} ms, p95 {1e3 * GOAL_P95_S:.0f} ms."
    text = f"{markdown_table(header, rows)}\n\nMedians of {args.ticks} ticks. {goals} {machine()}."
    print(text)
    if args.write:
        write_between("gui-tick", text)
    good = (
        percentile(plain.tick, 0.5) <= GOAL_MEDIAN_S
        and percentile(plain.tick, 0.95) <= GOAL_P95_S
        and percentile(crowded.tick, 0.95) <= GOAL_P95_S
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
