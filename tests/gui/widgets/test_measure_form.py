"""What is to be measured is part of the session: typed, undone, and there again when opened."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from costlab_gui.hub import Hub
from costlab_gui.model.document import Document
from costlab_gui.model.session import Session, ToMeasure
from costlab_gui.model.workspace import Workspace
from costlab_gui.widgets.measure_form import MeasureForm


@pytest.fixture
def form(qtbot: QtBot) -> MeasureForm:
    made = MeasureForm(Hub(Document(Session()), Workspace()))
    qtbot.addWidget(made)
    made.follow()
    made._hub.changed.connect(lambda _changed: made.follow())
    return made


def type_over(form: MeasureForm, text: str, qtbot: QtBot) -> None:
    form.values.setFocus()
    form.values.selectAll()
    with qtbot.waitSignal(form.changed):
        qtbot.keyClicks(form.values, text)
    form._hub.flush()


def test_what_is_typed_is_one_step_of_the_session(form: MeasureForm, qtbot: QtBot) -> None:
    proposed = form.values.text()
    with qtbot.waitSignal(form.changed):
        form.repeats.setValue(7)
        form.whole.setChecked(True)
    type_over(form, "300,700", qtbot)

    document = form._hub.document
    assert document.session.measure == ToMeasure("n", "300,700", 7, all=True)
    assert document.undo_text == "change what to measure"
    document.undo()
    form._hub.flush()
    assert document.session.measure == ToMeasure()
    assert (form.values.text(), form.repeats.value()) == (proposed, 5)
    assert not form.whole.isChecked()


def test_a_session_brings_its_own_wishes(form: MeasureForm) -> None:
    wish = ToMeasure("n", "640", 9, "2m")
    form._hub.document.replace(replace(Session(), measure=wish))
    form._hub.flush()

    assert (form.wish().values, form.wish().repeats, form.wish().budget_s) == ("640", 9, 120.0)


def test_sizes_belong_to_their_axis(form: MeasureForm, qtbot: QtBot) -> None:
    type_over(form, "300", qtbot)
    form._hub.change(over="d", low=64, high=1024)
    form._hub.flush()
    assert form.values.text() not in ("", "300")

    form._hub.change(over="n")
    form._hub.flush()
    assert form.values.text() == "300"
