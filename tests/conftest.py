"""What every test gets: a fresh seed that is printed, and data folders of its own."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import settings

from costlab.store import connection, store
from tests.devices.compiler import compiler

settings.register_profile("costlab", deadline=None, print_blob=True)
settings.load_profile("costlab")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose a new seed for this run unless ``--hypothesis-seed`` repeats an earlier one."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Print the seed and how to repeat the run, and what this machine's tests leave out."""
    lines = [f"seed: repeat with --hypothesis-seed={config.option.hypothesis_seed}"]
    if compiler() is None:
        lines.append("no C compiler on Linux: tests/devices/test_library.py is not collected")
    return lines


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run, for tests that draw sizes or data themselves."""
    return int(request.config.option.hypothesis_seed)


@pytest.fixture(autouse=True)
def costlab_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder for this test alone, so that no test reads or writes the user's."""
    home = tmp_path_factory.mktemp("costlab-home")
    monkeypatch.setenv("COSTLAB_HOME", str(home))
    return home


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that do not wait for the disk, for tests that pull no plug."""

    def quick(path: Path) -> sqlite3.Connection:
        opened = connection.connect(path)
        opened.execute("PRAGMA synchronous = OFF")
        return opened

    monkeypatch.setattr(store, "connect", quick)
