"""The structure page: picture, sentence and table are of one program, and keys walk over it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from costlab.figures.spec import FigureSpec, PatternSpec
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session
from costlab_gui.model.structure import PATHS
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.structure_page import StructurePage

SESSION = Session(
    programs=("sliding_window", "rnn", "cross_entropy"), selected="sliding_window", page="structure"
)


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[StructurePage]:
    hub = Hub(Document(SESSION), Workspace())
    made = StructurePage(hub)
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    qtbot.waitUntil(lambda: made.is_read)
    yield made
    hub.closing.emit()


def _choose(page: StructurePage, qtbot: QtBot, which: str) -> None:
    page.choice.set_value([which])
    page.choice.chosen.emit((which,))
    qtbot.waitUntil(lambda: page.is_read)


def test_it_opens_with_the_selected_pattern_in_picture_words_and_numbers(
    page: StructurePage,
) -> None:
    assert isinstance(page.figure(), PatternSpec)
    assert page.plot.accessibleDescription().startswith("Sliding-window attention. At n = 48, ")
    assert ("mean path in layers", "4.47") in page.facts.facts
    assert "edges: 412, 17.9 %; diameter in layers: 12 = " in page.facts.accessibleDescription()
    model = page.table.model()
    assert [model.index(row, 1).data() for row in range(model.rowCount())] == [
        "48", "32", "24", "16", "12", "8"
    ]  # fmt: skip
    assert page.table.isColumnHidden(0)
    assert page.upto.maximum() == 12


def test_pointer_and_keys_tell_what_an_output_reads(page: StructurePage, qtbot: QtBot) -> None:
    frame = page.plot.frame
    assert frame is not None
    at = page.plot.to_widget(*frame.at(33.0, 24.0)).toPoint()

    qtbot.mouseMove(page.plot, at)
    page.plot.hovered.emit((33.0, 24.0))
    assert page.read_out.text().startswith("Output 24 reads 9 of 48 positions: 20–28.")
    assert page.plot.outlined is not None and page.plot.outlined.contains(*frame.at(33.0, 24.0))

    qtbot.keyClick(page.plot, Qt.Key.Key_Up)
    assert page.read_out.text().startswith("Output 24 reads")
    qtbot.keyClick(page.plot, Qt.Key.Key_Down)
    assert page.read_out.text().startswith("Output 25 reads")


def test_more_layers_reach_farther(page: StructurePage, qtbot: QtBot) -> None:
    page.upto.setValue(3)
    qtbot.waitUntil(lambda: page.is_read)

    figure = page.figure()
    assert isinstance(figure, PatternSpec) and figure.upto == 3
    # Another program's diameter is the most it can be asked for.
    page.hub.change(selected="rnn")
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)
    assert page.shown.selected is not None and page.shown.selected.target == "rnn"
    assert (page.upto.value(), page.upto.isEnabled()) == (1, False)


def test_curves_compare_all_shown_programs(page: StructurePage, qtbot: QtBot) -> None:
    _choose(page, qtbot, PATHS)

    figure = page.figure()
    assert isinstance(figure, FigureSpec)
    assert page.table.model().rowCount() == len(figure.series) == 2
    assert not page.table.isColumnHidden(0)
    assert "Cross-entropy loss: its structure is not known" in page.notes.text()
    assert not page.facts.isVisible() and not page.upto.isVisible()
    qtbot.keyClick(page.plot, Qt.Key.Key_Right)
    assert page.read_out.text().startswith("layers 0: ")
    qtbot.keyClick(page.plot, Qt.Key.Key_Right)
    assert page.read_out.text().startswith("layers 1: Sliding-window attention 16.1 %; RNN 100 %")


def test_a_program_without_structure_leaves_a_sentence(page: StructurePage, qtbot: QtBot) -> None:
    page.hub.change(selected="cross_entropy")
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)

    assert page.empty.isVisible() and page.figure() is None
    assert "not known" in page.empty.accessibleName()
    page.hub.change(selected="rnn")
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)
    assert isinstance(page.figure(), PatternSpec) and not page.empty.isVisible()


def test_sizes_change_nothing(page: StructurePage) -> None:
    before = page.shown
    page.hub.change(sizes={"n": 64})
    page.hub.flush()

    assert page.is_read and page.shown is before


def test_the_pattern_is_exported(page: StructurePage, qtbot: QtBot, tmp_path: Path) -> None:
    page.hub.asked.emit("export plot", tmp_path / "pattern.csv")
    qtbot.waitUntil(lambda: not page.hub.worker.busy)

    rows = (tmp_path / "pattern.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "output,position,layers"
    assert sum(row.endswith(",1") for row in rows) == 412


def test_it_needs_neither_torch_nor_sympy() -> None:
    code = (
        "import sys; from costlab_gui.model.session import Session;"
        "from costlab_gui.model.workspace import Workspace;"
        "from costlab_gui.model.structure import view;"
        "assert view(Session(), Workspace(), 'pattern').figure is not None;"
        "sys.exit(bool({'torch', 'sympy', 'PySide6'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
