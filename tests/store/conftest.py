"""A store with one run and no points."""

from __future__ import annotations

from pathlib import Path

import pytest

from costlab.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "new folder" / "runs.sqlite"
    with Store(path) as store:
        store.start_run("r", {"seed": 7}, {"id": "e"})
    return path
