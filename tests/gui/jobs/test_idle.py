"""What can wait is done in its order, and not before the hold ends."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from costlab_gui.jobs.idle import Idle


def test_work_waits_for_the_end_of_the_hold_and_keeps_its_order(qtbot: QtBot) -> None:
    idle, done = Idle(), list[str]()
    idle.soon(lambda: done.append("at once"))
    assert done == ["at once"] and not idle.busy
    idle.hold()
    idle.soon(lambda: done.append("first"))
    idle.later(lambda: done.append("second"))
    qtbot.wait(50)
    assert done == ["at once"] and idle.busy
    idle.release()
    qtbot.waitUntil(lambda: done == ["at once", "first", "second"])
    idle.later(lambda: done.append("never"))
    idle.stop()
    qtbot.wait(50)
    assert "never" not in done and not idle.busy
