"""A call that blocks the event loop is found with its place."""

from __future__ import annotations

import time

from pytestqt.qtbot import QtBot

from costlab_gui.watchdog import Stall, Watchdog


def _blocks(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_a_long_call_is_found_and_short_ones_are_not(qtbot: QtBot) -> None:
    watchdog = Watchdog(limit_s=0.2)
    watchdog.start()
    qtbot.wait(60)
    _blocks(0.02)
    qtbot.wait(60)
    before = list(watchdog.stalls)
    _blocks(0.5)
    qtbot.waitUntil(lambda: bool(watchdog.stalls))
    watchdog.stop()

    assert before == []
    assert watchdog.stalls[0].lasted_s > 0.3
    assert watchdog.stalls[0].worked_s > 0.02  # however busy the cores are
    assert watchdog.stalls[0].stacks[0][-1].endswith("in _blocks")


def test_the_place_is_the_call_of_ours_that_all_of_the_time_was_spent_in() -> None:
    page, form = "costlab_gui/page.py", "costlab_gui/form.py"
    stall = Stall(
        0.1,
        0.1,
        (
            ("app.py:1 in exec", f"{page}:3 in refresh", f"{form}:5 in fill", f"{form}:9 in row"),
            ("app.py:1 in exec", f"{page}:3 in refresh", f"{form}:6 in fill", "numpy.py:2 in sum"),
        ),
    )
    assert stall.place == f"{form}:5 in fill"
    assert Stall(0.1, 0.0, ()).place == ""
