"""Tests of the app run without a display; threads, timers and warnings left over are failures."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(autouse=True)
def nothing_left_over(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread or a running timer behind; begin in the dark theme."""
    if "qtbot" not in request.fixturenames:
        yield
        return
    from PySide6.QtCore import QThread, QTimer

    from costlab_gui.theme.tokens import DARK, choose

    choose(DARK)
    threads = set(threading.enumerate())
    gc.freeze()  # what is there already is not looked through again
    yield
    gc.collect()
    objects = gc.get_objects()
    timers = [
        f"{one} of {one.parent()}" for one in objects if isinstance(one, QTimer) and _active(one)
    ]
    running = [one for one in objects if isinstance(one, QThread) and _running(one)]
    started = {t for t in threading.enumerate() if t not in threads and not t.daemon}
    # Pools keep their threads for the next task.
    started = {t for t in started if not t.name.startswith("ThreadPoolExecutor")}
    assert not timers, f"timers that still run: {timers}"
    assert not running, f"threads that still run: {running}"
    assert not started, f"threads that still run: {started}"


def _active(timer: object) -> bool:
    try:
        return bool(timer.isActive())  # type: ignore[attr-defined]
    except RuntimeError:  # deleted by Qt
        return False


def _running(thread: object) -> bool:
    try:
        return bool(thread.isRunning())  # type: ignore[attr-defined]
    except RuntimeError:
        return False
