"""The map page: a click sets both sizes, keys walk, and dragging moves the cross alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab.figures import to_svg
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.map_page import MapPage

SESSION = Session(setting=replace(Setting(), device="L4", mode="train"), page="map")


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[MapPage]:
    hub = Hub(Document(SESSION), Workspace())
    made = MapPage(hub)
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    qtbot.waitUntil(lambda: made.shown.figure is not None)
    yield made
    hub.closing.emit()


def test_a_click_sets_both_sizes_in_one_step(page: MapPage, qtbot: QtBot) -> None:
    assert page.plot.frame is not None
    at = page.plot.to_widget(*page.plot.frame.at(16_384.0, 2048.0)).toPoint()

    qtbot.mouseClick(page.plot, Qt.MouseButton.LeftButton, pos=at)
    page.hub.flush()

    sizes = page.hub.session.sizes
    assert sizes["n"] == pytest.approx(16_384, rel=0.06)
    assert sizes["d"] == pytest.approx(2048, rel=0.06)
    assert page.plot.crossed is not None
    assert (page.plot.crossed.x(), page.plot.crossed.y()) == pytest.approx(
        page.plot.frame.at(float(sizes["n"]), float(sizes["d"]))
    )
    page.hub.document.undo()
    assert page.hub.session.sizes["n"] == 4096
    assert page.hub.session.sizes["d"] == 512


def test_dragging_a_size_of_the_map_moves_the_cross_and_computes_nothing(page: MapPage) -> None:
    before, cross = page.shown, page.plot.crossed
    drag = page.hub.new_drag()
    for d in (600, 700, 800):
        page.hub.change("", drag, sizes={"d": d})
        page.hub.flush()

    assert page.shown is before
    assert page.plot.crossed != cross
    assert "d = 800" in page.read_out.text()


def test_another_size_computes_the_map_when_idle(page: MapPage, qtbot: QtBot) -> None:
    before = page.shown
    page.hub.change(sizes={"b": 8})
    page.hub.flush()

    assert page.shown is before
    qtbot.waitUntil(lambda: page.shown is not before, timeout=5000)


def test_keys_walk_from_the_cross_and_enter_sets_the_sizes(page: MapPage, qtbot: QtBot) -> None:
    for _step in range(6):
        qtbot.keyClick(page.plot, Qt.Key.Key_Right)
    assert page.plot.outlined is not None
    words = page.read_out.text()
    qtbot.keyClick(page.plot, Qt.Key.Key_Return)
    page.hub.flush()

    n = page.hub.session.sizes["n"]
    assert 4096 < n < 10_000
    assert words.startswith(f"n = {n:,}".replace(",", " "))


def test_menus_choose_axes_and_metric(page: MapPage, qtbot: QtBot) -> None:
    page.x_menu.setCurrentIndex(page.x_menu.findData("d"))
    page.x_menu.activated.emit(page.x_menu.currentIndex())
    page.metric_menu.setCurrentIndex(page.metric_menu.findData("memory"))
    page.metric_menu.activated.emit(page.metric_menu.currentIndex())
    page.hub.flush()

    # The axes change places: nothing is mapped against itself.
    assert page.hub.session.map_over == ("d", "n")
    qtbot.waitUntil(lambda: "memory" in page.plot.spec.title, timeout=5000)  # type: ignore[union-attr]
    assert page.shown.figure is not None
    assert page.shown.figure.x.label.startswith("d")


def test_the_export_has_the_cross(page: MapPage, qtbot: QtBot, tmp_path: Path) -> None:
    page.hub.asked.emit("export plot", tmp_path / "map.svg")
    qtbot.waitUntil(lambda: not page.hub.worker.busy)

    assert page.shown.figure is not None
    with_cross = replace(page.shown.figure, here=(4096.0, 512.0))
    assert (tmp_path / "map.svg").read_text(encoding="utf-8") == to_svg(with_cross)
