"""A session outlives the process that was killed, and is offered only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from costlab_gui.model import recovery
from costlab_gui.model.session import Session

_KILLED = """
import os, signal
from pathlib import Path
from costlab_gui.model.recovery import Autosave
from costlab_gui.model.session import Session
Autosave().write(Session(low=77), Path("mine.costlab.json"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_app_leaves_its_session() -> None:
    assert recovery.lost() == []

    killed = subprocess.run([sys.executable, "-c", _KILLED], check=False, env=_environment())

    assert killed.returncode != 0
    (found,) = recovery.lost()
    assert (found.session, found.path) == (Session(low=77), "mine.costlab.json")
    recovery.discard(found)
    assert recovery.lost() == []


def test_a_running_app_has_lost_nothing() -> None:
    autosave = recovery.Autosave()
    autosave.write(Session(low=3), None)

    assert autosave.copy.exists()
    assert recovery.lost() == []
    autosave.end()
    assert not autosave.copy.exists()


def test_unreadable_copies_are_passed_over() -> None:
    recovery.folder().mkdir(parents=True)
    for name, text in {"a.json": "{", "b.json": "{}", "c.json": "[1]"}.items():
        (recovery.folder() / name).write_text(text)

    assert recovery.lost() == []


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_the_folder_is_in_the_data_folder(costlab_home: Path) -> None:
    assert recovery.folder().parent == costlab_home
