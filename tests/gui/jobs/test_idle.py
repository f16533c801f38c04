"""Work that waits for the first picture, and is done in pieces afterwards."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from costlab_gui.jobs.idle import Idle


def test_pieces_are_done_in_order_after_the_hold(qtbot: QtBot) -> None:
    idle, done = Idle(), []
    idle.hold()
    for number in range(3):
        idle.later(lambda number=number: done.append(number))  # type: ignore[misc]
    idle.soon(lambda: done.append(3))

    assert done == [] and idle.busy
    idle.release()
    assert done == [], "nothing is done before the event loop comes round"
    qtbot.waitUntil(lambda: not idle.busy)
    assert done == [0, 1, 2, 3]


def test_without_a_hold_what_is_due_soon_is_done_at_once() -> None:
    idle, done = Idle(), []

    idle.soon(lambda: done.append(1))

    assert done == [1] and not idle.busy


def test_what_waits_is_dropped_when_the_app_ends() -> None:
    idle, done = Idle(), []
    idle.later(lambda: done.append(1))

    idle.stop()

    assert not idle.busy and done == []
