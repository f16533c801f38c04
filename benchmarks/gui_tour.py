"""A scripted use of the whole app with real child processes: ``python -m benchmarks.gui_tour``.

Every step asserts what it did; a watchdog notes every call that kept the window from answering
for 50 ms or more. ``--pictures FOLDER`` then writes the pages in both themes. The store, the
calibration and all files lie in a folder that is removed. It takes about three minutes; it needs
no display.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

_MODULE = '''"""A gated layer, as a user writes one."""
import torch
from torch import nn
from torch.nn import functional as F


class Gated(nn.Module):
    def __init__(self, d, u):
        super().__init__()
        self.up, self.down = nn.Linear(d, 2 * u), nn.Linear(u, d)

    def forward(self, x):
        return self.down(F.glu(self.up(x)))


def build(b=1, n=128, d=64, u=128):
    return Gated(d, u), (torch.randn(b, n, d),)
'''
_CONFIG = Path(__file__).parent.parent / "profiles" / "costlab_profiles" / "models" / "gpt2.json"
_WAIT_S = 120.0
SIZES = {"light": (1440, 900), "dark": (1440, 900)}


class Tour:
    """The steps in their order; each is a method whose docstring says what a user does."""

    def __init__(self, folder: Path) -> None:
        from costlab_gui.build import build_window
        from costlab_gui.watchdog import Watchdog

        self.folder = folder
        self.window = build_window("dark")
        self.hub = self.window.hub
        self.watchdog = Watchdog()
        self.window.resize(1440, 900)
        self.window.show()
        self.settle(300)
        self.watchdog.start()

    def settle(self, ms: int = 50) -> None:
        """Let the event loop run; ``QTest.qWait`` would keep Python's threads from running."""
        from PySide6.QtCore import QEventLoop, QTimer

        self.hub.flush()
        loop = QEventLoop()
        QTimer.singleShot(ms, loop.quit)
        loop.exec()

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait for ``holds``."""
        end = time.monotonic() + _WAIT_S
        while not holds():
            assert time.monotonic() < end, f"waited in vain for {what}"
            self.settle(20)

    def steps(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Name and method of every step."""
        for name in (
            "calibrate", "drag", "type_exactly", "crossover", "pages", "structure", "plan",
            "measure", "cancel", "kill_the_worker", "own_module", "config", "compare_b",
            "save_and_reopen", "export", "report",
        ):  # fmt: skip
            yield name, getattr(self, name)

    def calibrate(self) -> None:
        """Calibrate this machine from the Measure page and choose it."""
        self.open("measure")
        self.hub.change("choose this machine", device="this")
        self.settle()
        self.page("measure").calibration.asked.emit("quick")
        self.until(lambda: not self.hub.jobs.active, "the calibration")
        job = self.hub.jobs.all[-1].job
        assert job.state == "done", job.reason
        assert self.hub.workspace.machine(self.hub.session.setting).basis == "calibrated"

    def drag(self) -> None:
        """Drag d on the Curves page; undo takes the whole drag back."""
        from PySide6.QtCore import QPoint, Qt
        from PySide6.QtTest import QTest

        self.open("curves")
        self.hub.change("three panels", metrics=("time", "memory", "flop"))
        self.settle(200)
        before = dict(self.hub.session.sizes)
        slider = self.control("d").slider
        left, middle = Qt.MouseButton.LeftButton, slider.height() // 2
        start = self.knob(slider)
        QTest.mousePress(slider, left, Qt.KeyboardModifier.NoModifier, QPoint(start, middle))
        for step in range(1, 40):
            QTest.mouseMove(slider, QPoint(start + step, middle))
            self.settle(5)
        QTest.mouseRelease(slider, left, Qt.KeyboardModifier.NoModifier, QPoint(start + 39, middle))
        self.settle()
        assert self.hub.session.sizes["d"] > before["d"]
        self.window.commands.undo.trigger()
        self.settle()
        assert dict(self.hub.session.sizes) == before

    def type_exactly(self) -> None:
        """Type a size that no slider reaches; the table shows what ``costlab predict`` says."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        from costlab_gui.model.explore import read_out

        edit = self.control("n").edit
        edit.setFocus()
        edit.selectAll()
        QTest.keyClicks(edit, "5120")
        QTest.keyClick(edit, Qt.Key.Key_Return)
        self.settle()
        assert self.hub.session.sizes["n"] == 5120
        with self.watchdog.aside():
            shown = read_out(self.hub.session, self.hub.workspace)[0]
        device = self.hub.session.setting.device
        where = [] if device == "this" else ["--device", device]
        line = ("predict", "full_attention", "n=5120", "d=512", "h=8", "b=1", *where)
        printed = self.command(*line)
        assert shown["full_attention"].to_json() == printed["points"][0]

    def crossover(self) -> None:
        """Read where one architecture overtakes another, and go there."""
        from costlab_gui.widgets.landmarks_card import LandmarksCard

        card = self.window.findChild(LandmarksCard)
        assert card is not None
        self.until(lambda: self.hub.landmarks.lines, "crossovers")
        self.settle(100)
        line = next(line for line in self.hub.landmarks.lines if line.at is not None)
        card.choose(line)
        self.settle()
        assert self.hub.session.sizes[self.hub.session.over] == line.at

    def pages(self) -> None:
        """Look at every page."""
        from costlab_gui.pages.registry import titles

        for key in titles():
            self.open(key)
            self.settle(300)
            assert self.window.current_page.isVisible()

    def structure(self) -> None:
        """Look at each view of the Structure page, and at what an output reads."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        self.open("structure")
        page = self.page("structure")
        for which in ("paths", "depth", "gradient", "pattern"):
            page.choice.set_value([which])
            page.choice.chosen.emit((which,))
            self.until(lambda: page.is_read, f"the view {which}")
            self.settle(200)
            assert page.figure() is not None, which
        QTest.keyClick(page.plot, Qt.Key.Key_Down)
        self.settle()
        assert " reads " in page.read_out.text()

    def plan(self) -> None:
        """Plan a training: drag the GPUs, see each view, ask what would make it fit, serve."""
        import shlex

        from PySide6.QtCore import Qt
        from PySide6.QtGui import QGuiApplication
        from PySide6.QtTest import QTest

        self.open("plan")
        self.until(lambda: self.window.pages.has("plan"), "the page")
        page = self.page("plan")
        self.until(lambda: page.is_read, "a plan")
        edit = page.form.fields["gpus"].slider.edit
        edit.setFocus()
        edit.selectAll()
        QTest.keyClicks(edit, "128")
        QTest.keyClick(edit, Qt.Key.Key_Return)
        self.settle()
        self.until(lambda: page.is_read, "a plan on 128 GPUs")
        assert page.answer.data["gpus"] == 128
        slider = page.form.fields["gpus"].slider.slider
        for _step in range(20):
            QTest.keyClick(slider, Qt.Key.Key_Left)
            self.settle(10)
        for _step in range(20):
            self.window.commands.undo.trigger()
        self.until(lambda: page.is_read, "the plan before")
        assert self.hub.session.plan.gpus == "128"
        for view in ("time", "pareto", "gpus", "n", "b", "memory"):
            page.choice.button(view).click()
            self.settle()
            self.until(lambda: page.is_read and page.plot.is_drawn, f"the view {view}")
            assert page.figure() is not None and not page.empty.isVisible(), view
        QTest.keyClick(page.plot, Qt.Key.Key_Right)
        self.settle()
        assert page.row == 1 and page.why.reasons.reasons == page.answer.reasons[1]
        self.window.commands.copy_command()
        words = shlex.split(QGuiApplication.clipboard().text())
        printed = self.command(*words[1:])
        assert printed["plans"] == json.loads(json.dumps(page.answer.data["plans"]))

        self.hub.change(plan=replace(self.hub.session.plan, model="gpt3-175b", gpus="8"))
        self.settle()
        self.until(lambda: page.is_read and page.empty.isVisible(), "that it does not fit")
        page.empty.action.click()
        self.settle()
        self.until(lambda: page.is_read and page.answer is not None, "what makes it fit")
        assert int(self.hub.session.plan.gpus) > 8
        self.hub.change(plan=replace(self.hub.session.plan, model="llama-3-8b", job="serve"))
        self.settle()
        self.until(lambda: page.is_read and page.answer is not None, "a server")
        assert page.answer.rows[page.answer.best]["tokens_per_s"] > 0

    def measure(self) -> None:
        """Measure six points; they land on the plot one by one."""
        page = self.page("measure")
        self.small("lstm", "full_attention")
        page.form.values.setText("64,128,256")
        page.form.values.textEdited.emit("64,128,256")
        self.settle(500)
        page.form.start.click()
        seen: set[int] = set()

        def done() -> bool:
            seen.add(len(self.hub.runs.points()))
            return not self.hub.jobs.active

        self.until(done, "six points")
        self.settle(1200)
        points = self.hub.runs.points()
        assert len(points) == 6, points
        assert len(seen) > 2, f"points came all at once: {seen}"
        self.open("curves")
        self.settle(200)
        self.until(lambda: self.page("curves").is_read, "the curves")
        series = self.page("curves").figure().series
        assert sum(len(one.x) for one in series if one.kind == "measured") == 6

    def cancel(self) -> None:
        """Cancel a measurement; what is finished is kept, and Resume goes on."""
        page = self.page("measure")
        self.small("lstm", "full_attention", d=48)
        process = page.start()
        assert process is not None
        self.until(lambda: landed(process), "a first point")
        begin = time.monotonic()
        process.cancel()
        self.until(lambda: process.job.ended, "the end of a cancelled measurement")
        assert time.monotonic() - begin < 12.0
        assert process.job.state == "cancelled"
        self.settle(1200)
        assert 1 <= len(self.hub.runs.points()) < 12, "nothing was kept, or nothing cancelled"
        self.no_orphans()

    def kill_the_worker(self) -> None:
        """Kill the child that measures; the app says so and keeps what was measured."""
        page = self.page("measure")
        self.small("lstm", "full_attention", d=40)
        process = page.start()
        assert process is not None
        self.until(lambda: landed(process), "a first point")
        os.kill(process.pid, signal.SIGKILL)
        self.until(lambda: process.job.ended, "the end of a killed measurement")
        assert process.job.state == "failed"
        self.settle(1200)
        assert 1 <= len(self.hub.runs.points()) < 12
        self.until(lambda: not self.children(), "the end of the killed child's children")

    def own_module(self) -> None:
        """Open a factory of one's own, agree to run it, and drag a size that only it has."""
        file = self.folder / "mine.py"
        file.write_text(_MODULE, encoding="utf-8")
        dialog = self.window.own.open(file)
        self.settle(200)
        dialog.agree.setChecked(True)
        dialog.derive.click()
        self.until(lambda: self.hub.session.opened, "a derived module")
        self.settle(300)
        target = next(iter(self.hub.session.opened))
        assert target in self.hub.session.programs
        before = self.values(target)
        slider = self.control("u").slider
        slider.step(4.0)
        self.settle(200)
        assert self.values(target) != before

    def config(self) -> None:
        """Open a Hugging Face config; it stands beside the module."""
        dialog = self.window.own.open(_CONFIG)
        self.settle(200)
        dialog.derive.click()
        self.until(lambda: len(self.hub.session.opened) == 2, "a derived config")
        self.settle(300)
        target = next(t for t in self.hub.session.opened if t.startswith("hf:"))
        assert self.values(target)

    def compare_b(self) -> None:
        """Keep the setting as B and change the mode: both are drawn."""
        self.open("curves")
        self.hub.change("keep B", reference=self.hub.session.setting)
        self.hub.change("train", mode="train")
        self.settle(300)
        self.until(lambda: self.page("curves").is_read, "the curves of training")
        series = self.page("curves").figure().series
        assert {one.faint for one in series} == {True, False}
        self.hub.change("drop B", reference=None, mode="forward")
        self.settle(100)

    def save_and_reopen(self) -> None:
        """Save, begin anew, open: everything is as it was."""
        path = self.folder / "tour.costlab.json"
        session = self.hub.session
        assert self.window.files.save_as(path)
        assert str(self.folder) not in path.read_text(encoding="utf-8")
        self.window.files.new()
        self.settle(200)
        assert self.hub.session != session
        self.window.files.open(path)
        self.settle(500)
        assert self.hub.session == session

    def export(self) -> None:
        """Export the plot as PNG, SVG and CSV, and copy the command line."""
        from PySide6.QtGui import QGuiApplication, QImage

        page = self.page("curves")
        self.open("curves")
        self.settle(200)
        self.until(lambda: page.is_read, "the curves")
        for suffix in ("png", "svg", "csv"):
            page.export_figure(self.folder / f"plot.{suffix}")
        self.until(lambda: not self.hub.worker.busy, "the exports")
        assert QImage(str(self.folder / "plot.png")).width() > 600
        assert (self.folder / "plot.svg").read_text(encoding="utf-8").startswith("<svg")
        rows = (self.folder / "plot.csv").read_text(encoding="utf-8").splitlines()
        assert len(rows) > 100
        self.window.commands.copy_command()
        assert QGuiApplication.clipboard().text().startswith("costlab predict ")

    def report(self) -> None:
        """Write the report of the session."""
        path = self.folder / "report.html"
        self.window.files.write_report(path)
        self.until(lambda: not self.hub.worker.busy, "the report")
        text = path.read_text(encoding="utf-8")
        assert "<svg" in text
        assert "LSTM" in text or "lstm" in text

    def open(self, key: str) -> None:
        """Open a page and wait until it is seen."""
        self.window.open_page(key)
        self.until(lambda: self.window.pages.is_shown(key), f"the page {key}")

    def page(self, key: str) -> Any:
        return self.window.page(key)

    def control(self, name: str) -> Any:
        from costlab_gui.widgets.sizes_panel import SizesPanel

        panel = self.window.findChild(SizesPanel)
        assert panel is not None
        return panel.control(name)

    @staticmethod
    def knob(slider: Any) -> int:
        """Where the middle of a slider's knob is."""
        from PySide6.QtWidgets import QStyle, QStyleOptionSlider

        option = QStyleOptionSlider()
        slider.initStyleOption(option)
        part = QStyle.SubControl.SC_SliderHandle
        control = QStyle.ComplexControl.CC_Slider
        found = slider.style().subControlRect(control, option, part, slider)
        return int(found.center().x())

    def small(self, *programs: str, d: int = 32) -> None:
        """Programs at sizes that take milliseconds, on the Measure page."""
        self.open("measure")
        self.hub.change(
            "small", programs=programs, hidden=(), selected=programs[0],
            sizes={"b": 1, "d": d, "h": 4}, low=64, high=512, runs=("latest",), device="this",
        )  # fmt: skip
        self.settle(300)

    def values(self, target: str) -> tuple[float, ...]:
        from costlab_gui.model.explore import panel

        session = self.hub.session
        with self.watchdog.aside():
            found = panel(session, self.hub.workspace, "flop").figure.series
        return next((one.y for one in found if one.colour == session.colour(target)), ())

    def children(self) -> list[psutil.Process]:
        return psutil.Process().children(recursive=True)

    def no_orphans(self) -> None:
        self.until(lambda: not self.children(), "the end of all children")

    def command(self, *words: str) -> Any:
        """What a command prints as JSON, run beside the app."""
        line = [sys.executable, "-m", "costlab", *words, "--json"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
            # It prints less than a pipe holds.
            self.until(lambda: process.poll() is not None, f"costlab {' '.join(words)}")
            assert process.returncode == 0 and process.stdout is not None
            return json.loads(process.stdout.read())

    def pictures(self, folder: Path) -> None:
        """Every page in both themes, of the example on this machine."""
        from costlab_gui.model.first_run import example
        from costlab_gui.pages.registry import titles
        from costlab_gui.theming import use_theme

        folder.mkdir(parents=True, exist_ok=True)
        self.hub.document.replace(example(self.hub.workspace))
        for process in self.hub.jobs.active:
            process.cancel()
        self.until(lambda: not self.hub.jobs.active, "the end of all jobs")
        for theme, size in SIZES.items():
            use_theme(theme, self.hub)
            self.window.resize(*size)
            for key in titles():
                # Every output of full attention reads everything: a window shows more.
                picked = "sliding_window" if key == "structure" else "full_attention"
                self.hub.change(selected=picked)
                self.open(key)
                self.settle(1500)
                if key == "plan":
                    self.until(lambda: self.page("plan").is_read, "a plan")
                assert self.window.grab().save(str(folder / f"{key}-{theme}.png"))


def landed(process: Any) -> bool:
    """Whether a measurement has finished a point."""
    return any(line.get("kind") == "point" for line in process.job.lines)


@contextmanager
def _own_data(folder: str) -> Iterator[None]:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ["COSTLAB_HOME"] = folder
    yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Go through the steps; 1 if one fails or the window stood still for 50 ms."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gui_tour", description=__doc__)
    parser.add_argument("--pictures", type=Path, help="write the pages into this folder")
    parser.add_argument("--only", nargs="*", help="steps to run")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, _own_data(folder):
        from PySide6.QtWidgets import QApplication

        app = QApplication(["costlab"])
        tour = Tour(Path(folder))
        found: list[tuple[str, Any]] = []
        for name, step in tour.steps():
            if args.only and name not in args.only:
                continue
            begin, before = time.monotonic(), len(tour.watchdog.stalls)
            step()
            tour.settle()
            found += [(name, stall) for stall in tour.watchdog.stalls[before:]]
            about = (step.__doc__ or "").strip()
            print(f"{time.monotonic() - begin:6.1f} s  {name}: {about}", flush=True)
        tour.watchdog.stop()
        if args.pictures:
            tour.pictures(args.pictures)
        assert "torch" not in sys.modules
        tour.hub.document.mark_saved()  # else closing asks
        tour.window.close()
        app.processEvents()
    found.sort(key=lambda named: -named[1].lasted_s)
    print(f"calls that kept the window for 50 ms or more: {len(found)}")
    for name, stall in found:
        lasted, worked = (f"{1000 * s:.0f} ms" for s in (stall.lasted_s, stall.worked_s))
        print(f"  {lasted:>8}, {worked:>8} of work, {name}: {_short(stall.place)}")
    return int(bool(found))


def _short(place: str) -> str:
    """A place in the code without the folders that lead to the packages."""
    return place.rpartition("/gui/")[2].rpartition("/costlab/")[2]


if __name__ == "__main__":
    sys.exit(main())
