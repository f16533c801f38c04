"""One drag is one step; looking around is none; listeners hear what changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab_gui.model.document import Document
from costlab_gui.model.session import Session


def test_a_drag_is_one_step() -> None:
    document = Document()
    before = document.session
    for n in (5000, 6000, 7000):
        document.change("set n", drag=1, sizes={"n": n})
    document.change("set d", drag=2, sizes={"d": 64})

    assert document.session.sizes == {**before.sizes, "n": 7000, "d": 64}
    assert document.undo_text == "set d"
    document.undo()
    assert document.session.sizes == {**before.sizes, "n": 7000}
    document.undo()
    assert document.session == before
    document.redo()
    assert document.session.sizes["n"] == 7000


def test_a_drag_does_not_go_on_after_undo() -> None:
    document = Document()
    document.change("set n", drag=1, sizes={"n": 5000})
    document.undo()
    document.redo()
    document.change("set n", drag=1, sizes={"n": 6000})
    document.undo()

    assert document.session.sizes["n"] == 5000


def test_looking_is_not_undone() -> None:
    document = Document()
    document.change("train", mode="train")
    document.change(page="map", selected="lstm")
    document.undo()

    assert document.session.setting.mode == "forward"
    assert (document.session.page, document.session.selected) == ("map", "lstm")
    assert document.undo_text is None


def test_listeners_hear_fields_of_the_setting_too() -> None:
    document = Document()
    heard: list[frozenset[str]] = []
    document.subscribe(heard.append)
    document.change("train", mode="train", sizes={"n": 1})
    document.change("the same", mode="train")
    document.undo()

    assert heard == [frozenset({"setting", "mode", "sizes"})] * 2


def test_unknown_fields_are_a_defect() -> None:
    with pytest.raises(TypeError, match="colour"):
        Document().change("paint", colour="red")


def test_modified_follows_what_was_saved() -> None:
    document = Document()
    seen = [document.modified]
    document.change("train", mode="train")
    seen.append(document.modified)
    document.mark_saved()
    seen.append(document.modified)
    document.undo()
    seen.append(document.modified)
    document.redo()
    document.change(page="map", selected="lstm")
    seen.append(document.modified)
    assert seen == [False, True, False, True, False]
    document.replace(Session(low=2))
    assert (document.modified, document.undo_text, document.redo_text) == (False, None, None)


@given(st.lists(st.tuples(st.sampled_from("nd"), st.integers(1, 99)), max_size=30), st.data())
def test_any_undo_and_redo_lead_back(steps: list[tuple[str, int]], data: st.DataObject) -> None:
    document = Document()
    states = [document.session]
    for name, size in steps:
        document.change("set", sizes={name: size})
        if document.session != states[-1]:
            states.append(document.session)
    back = data.draw(st.integers(0, len(states) + 1))
    for _step in range(back):
        document.undo()
    assert document.session == states[max(0, len(states) - 1 - back)]
    for _step in range(back):
        document.redo()
    assert document.session == states[-1]
