"""Rows of the architecture list: search, groups, colours that stay, reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costlab.formulas import store
from costlab_gui.model.catalogue import Group, Program, forgotten, programs, rows, toggled
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace

NAMES = store.names()
OWN = "/somewhere/own.py:build"


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace()


def test_every_architecture_is_listed_once_beneath_its_family(workspace: Workspace) -> None:
    listed = rows(Session(), workspace)
    assert sorted(row.target for row in programs(listed)) == sorted(NAMES)
    for place, row in enumerate(listed):
        if isinstance(row, Group):
            below = programs(listed[place + 1 : place + 1 + row.count])
            assert len(below) == row.count and len({one.family for one in below}) == 1


@pytest.mark.parametrize(
    ("search", "targets"),
    [("flash", {"flash_attention"}), ("LSTM", {"lstm"}), ("n d²", {"lstm", "gru"}), ("zzz", set())],
)
def test_search_takes_names_titles_and_orders(
    workspace: Workspace, search: str, targets: set[str]
) -> None:
    found = {row.target for row in programs(rows(Session(), workspace, search))}
    assert targets <= found
    assert bool(found) == bool(targets)
    assert len(found) < len(NAMES)


def test_groups_without_a_match_are_left_out(workspace: Workspace) -> None:
    listed = rows(Session(), workspace, "lsh")
    assert [type(row).__name__ for row in listed] == ["Group", "Program"]


@given(st.lists(st.sampled_from(NAMES), max_size=30))
def test_colours_stay_while_others_come_and_go(clicks: list[str]) -> None:
    session = Session()
    for target in clicks:
        kept = {name: session.colour(name) for name in session.programs if name != target}
        session = replace(session, **toggled(session, target))
        assert all(session.colour(name) == colour for name, colour in kept.items())
        colours = [session.colour(name) for name in session.programs]
        assert len(set(colours)) == len(colours)
        assert not colours or max(colours) <= len(NAMES)


def test_a_new_program_takes_the_first_free_colour_and_is_explained() -> None:
    session = replace(Session(), **toggled(Session(), "full_attention"))
    session = replace(session, **toggled(session, "gru"))
    assert session.programs[-1] == session.selected == "gru"
    assert session.colour("gru") == 0


def test_what_cannot_be_drawn_says_why(workspace: Workspace) -> None:
    session = Session(setting=Setting(mode="decode"))
    problems = {row.target: row.problem for row in programs(rows(session, workspace))}
    assert problems["transformer_block"] == "has no mode decode"
    assert not problems["full_attention"]
    assert "has no mode decode" in next(
        row.spoken
        for row in programs(rows(session, workspace))
        if row.target == "transformer_block"
    )


def test_opened_modules_have_a_group_of_their_own_and_can_be_closed(workspace: Workspace) -> None:
    session = Session(programs=("lstm", OWN), selected=OWN, opened={OWN: "0" * 64})
    first, own = rows(session, workspace)[:2]
    assert isinstance(first, Group) and first.count == 1
    assert isinstance(own, Program)
    assert (own.title, own.family) == ("own.py:build", "own")
    assert own.problem == "formulas are being derived"

    closed = replace(session, **forgotten(session, OWN))
    assert (closed.programs, dict(closed.opened), closed.selected) == (("lstm",), {}, "lstm")
