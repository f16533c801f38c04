"""A call that blocks the event loop is found with its place."""

from __future__ import annotations

import time

from pytestqt.qtbot import QtBot

from costlab_gui.watchdog import Watchdog


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
    assert "_blocks" in watchdog.stalls[0].stack
