"""The plan page: inputs change the answer, and picture, table and reasons are of one plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QSlider,
    QWidget,
)
from pytestqt.qtbot import QtBot

from costlab.figures.spec import FigureSpec, StackSpec
from costlab.figures.stack_svg import column_span
from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session
from costlab_gui.model.to_plan import ToPlan
from costlab_gui.model.workspace import Workspace
from costlab_gui.pages.plan_page import PlanPage
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.number_table import NumberTable
from costlab_gui.widgets.origin_dialog import OriginDialog
from costlab_gui.widgets.svg_figure import SvgFigure

WISH = ToPlan(model="llama-2-7b", device="A100-80G-SXM", gpus="8", price="2")


@pytest.fixture
def page(qtbot: QtBot) -> Iterator[PlanPage]:
    hub = Hub(Document(Session(page="plan", plan=WISH)), Workspace())
    made = PlanPage(hub)
    qtbot.addWidget(made)
    made.resize(1250, 640)
    made.show()
    qtbot.waitUntil(lambda: made.is_read)
    yield made
    hub.closing.emit()


def _ask(page: PlanPage, qtbot: QtBot, **changes: object) -> None:
    wish = replace(page.hub.session.plan, **changes)  # type: ignore[arg-type]
    page.hub.change("ask", plan=wish)
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)


def test_it_opens_with_an_answer_in_picture_table_and_words(page: PlanPage) -> None:
    answer, table = page.answer, page.table.table
    assert answer is not None and table is not None
    assert page.figure() == answer.memory
    assert table.model().rowCount() == len(answer.rows) == 12
    assert table.selected_row() == page.row == 0
    assert page.why.reasons.reasons == answer.reasons[0]
    assert page.headline.text().startswith("llama-2-7b, 300B tokens on 8 x A100")
    # What was not given is told in the fields.
    assert page.form.fields["network"].line is not None
    assert page.form.fields["per_node"].line.placeholderText() == "8"  # type: ignore[union-attr]
    assert page.form.fields["length"].slider.edit.text() == "2\u2009048"  # type: ignore[union-attr]


def test_another_plan_is_picked_in_table_and_picture(page: PlanPage, qtbot: QtBot) -> None:
    table, answer = page.table.table, page.answer
    assert table is not None and answer is not None
    table.select_row(2)
    assert page.row == 2
    assert page.why.reasons.reasons == answer.reasons[2]

    page.plot.clicked.emit((4.5, 1.0))
    assert table.selected_row() == page.row == 4
    qtbot.keyClick(page.plot, Qt.Key.Key_Right)
    assert table.selected_row() == page.row == 5
    assert page.plot.outlined is not None


def test_typing_changes_the_answer_and_undo_takes_it_back(page: PlanPage, qtbot: QtBot) -> None:
    edit = page.form.fields["gpus"].slider.edit  # type: ignore[union-attr]
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "16")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)
    assert page.hub.session.plan.gpus == "16"
    assert page.answer is not None and page.answer.data["gpus"] == 16

    page.hub.document.undo()
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)
    assert page.answer.data["gpus"] == 8


def test_each_job_shows_its_fields_and_columns(page: PlanPage, qtbot: QtBot) -> None:
    _ask(page, qtbot, job="serve")
    assert page.form.fields["prompt"].isVisible() and not page.form.fields["tokens"].isVisible()
    assert page.table.table is not None
    assert page.table.table.model().headerData(1, Qt.Orientation.Horizontal) == "TTFT"
    assert page.choice.value == ("memory",)
    figure = page.figure()
    assert isinstance(figure, StackSpec) and figure.layers[0].name == "weights"

    _ask(page, qtbot, job="lora")
    assert page.form.fields["rank"].isVisible() and not page.form.prices.isVisible()
    assert page.table.table.model().headerData(0, Qt.Orientation.Horizontal) == "phase"


def test_what_does_not_fit_is_said_with_what_would_help(page: PlanPage, qtbot: QtBot) -> None:
    _ask(page, qtbot, model="gpt3-175b")
    assert page.empty.isVisible() and page.figure() is None
    assert "such devices would do" in page.empty.accessibleName()

    _ask(page, qtbot, model="lama-2-7b")
    assert page.form.model_error.isVisible()
    assert "did you mean" in page.form.model_error.text()

    _ask(page, qtbot, model="llama-2-7b", price="much")
    assert page.form.fields["price"].line.property("wrong")  # type: ignore[union-attr]
    _ask(page, qtbot, price="3")
    assert not page.empty.isVisible() and page.figure() is not None
    assert not page.form.fields["price"].line.property("wrong")  # type: ignore[union-attr]


def test_curves_are_views_of_their_own_kept_in_the_session(page: PlanPage, qtbot: QtBot) -> None:
    page.choice.button("gpus").click()
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)
    figure = page.figure()
    assert isinstance(figure, FigureSpec) and figure.x.label == "GPUs"
    assert page.hub.session.plan_view == "gpus"
    assert [page.quantity.itemData(at) for at in range(3)] == ["days", "cost", "energy_j"]

    page.quantity.setCurrentIndex(1)
    page.quantity.activated.emit(1)
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)
    figure = page.figure()
    assert isinstance(figure, FigureSpec) and figure.y.label == "cost in EUR"
    assert "8: " in page.plot.accessibleDescription()

    # Another input: the curve follows.
    _ask(page, qtbot, price="4")
    again = page.figure()
    assert isinstance(again, FigureSpec)
    assert again.series[0].y == pytest.approx([2 * y for y in figure.series[0].y])


def test_the_picture_is_exported(page: PlanPage, qtbot: QtBot, tmp_path: Path) -> None:
    for suffix in ("png", "svg", "csv"):
        page.export_figure(tmp_path / f"plan.{suffix}")
    qtbot.waitUntil(lambda: not page.hub.worker.busy)
    assert (tmp_path / "plan.png").stat().st_size > 5000
    assert "capacity" in (tmp_path / "plan.svg").read_text(encoding="utf-8")
    assert "weights" in (tmp_path / "plan.csv").read_text(encoding="utf-8")


def test_what_would_help_is_one_press_away(page: PlanPage, qtbot: QtBot) -> None:
    _ask(page, qtbot, model="gpt3-175b", gpus="8")
    assert page.empty.action.text() == "Use 40 GPUs"
    page.empty.action.click()
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)
    assert page.hub.session.plan.gpus == "40"
    assert page.answer is not None


def test_a_number_opens_where_it_comes_from(page: PlanPage, qtbot: QtBot) -> None:
    table = page.table.table
    assert table is not None and page.answer is not None
    table.select_row(1)
    column = [head.key for head in page.answer.heads].index("mfu")
    table.setCurrentIndex(table.model().index(1, column))
    table.activated.emit(table.currentIndex())
    qtbot.waitUntil(lambda: bool(page.window().findChildren(OriginDialog)))
    dialog = page.window().findChildren(OriginDialog)[0]
    assert dialog.origin.value == page.answer.text(1, page.answer.heads[column])
    dialog.reject()


def test_a_view_that_changes_while_an_answer_is_computed_loses_nothing(
    page: PlanPage, qtbot: QtBot
) -> None:
    page.hub.change("ask", plan=replace(WISH, gpus="16"))
    page.hub.flush()
    page.hub.change("look", plan_view="gpus")
    page.hub.flush()
    page.hub.change("look", plan_view="time")
    page.hub.flush()
    qtbot.waitUntil(lambda: page.is_read)
    assert page.answer is not None and page.answer.data["gpus"] == 16
    assert page.figure() == page.answer.time


def test_the_outline_stays_around_its_plan(page: PlanPage, qtbot: QtBot) -> None:
    page.resize(1000, 800)
    frame, spec = page.plot.frame, page.figure()
    assert frame is not None and isinstance(spec, StackSpec)
    left, right = column_span(frame, page.row)
    outlined = page.plot.outlined
    assert outlined is not None
    assert outlined.center().x() == pytest.approx((left + right) / 2)
    assert outlined.bottom() == pytest.approx(frame.bottom + 3)


def test_no_text_is_cut_in_a_small_window(page: PlanPage, qtbot: QtBot) -> None:
    for job in ("train", "serve", "lora", "rlhf"):
        _ask(page, qtbot, job=job)
        labels = [one for one in page.findChildren(QLabel) if one.isVisible() and one.text()]
        assert len(labels) > 15
        for label in labels:
            if isinstance(label, ElidedLabel) or label.wordWrap():
                continue
            assert label.width() >= label.sizeHint().width(), label.text()
        for box in page.findChildren(QComboBox):
            if box.isVisible():
                needed = box.fontMetrics().horizontalAdvance(box.currentText())
                assert box.width() >= needed, box.currentText()


def test_everything_has_a_name_for_screen_readers(page: PlanPage) -> None:
    kinds = (QComboBox, QLineEdit, QSlider, NumberTable, QPushButton, SvgFigure)
    for widget in page.findChildren(QWidget):
        inner = widget.parent()
        if isinstance(widget, kinds) and widget.isVisible() and not isinstance(inner, QComboBox):
            interface = QAccessible.queryAccessibleInterface(widget)
            assert interface.text(QAccessible.Text.Name), widget
    assert page.plot.accessibleDescription()
