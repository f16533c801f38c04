"""Old stores are brought to the present version, newer ones and others' files left alone."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path

import pytest

from costlab.errors import StoreError
from costlab.store import Store
from costlab.store.schema import VERSION
from tests.store.points import point

# What the first version wrote, as text: this must not change with the code.
_VERSION_1 = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY, created TEXT NOT NULL, plan TEXT NOT NULL, environment TEXT NOT NULL
);
CREATE TABLE points (
    number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL REFERENCES runs (run),
    point TEXT NOT NULL, status TEXT NOT NULL, added TEXT NOT NULL, content TEXT NOT NULL,
    data TEXT NOT NULL, UNIQUE (run, content)
);
CREATE INDEX points_by_hash ON points (point);
CREATE TRIGGER points_keep_delete BEFORE DELETE ON points
    BEGIN SELECT RAISE(ABORT, 'the store is append-only'); END;
INSERT INTO runs VALUES ('r', '2026-01-02T03:04:05.678+00:00', '{"seed":7}', '{"id":"e"}');
INSERT INTO points (run, point, status, added, content, data) VALUES
    ('r', 'a', 'oom', '2026-01-02T03:04:06.000+00:00', 'c1', '{"point":"a","status":"oom"}'),
    ('r', 'a', 'ok', '2026-01-02T03:04:07.000+00:00', 'c2', '{"point":"a","status":"ok"}');
PRAGMA user_version = 1;
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(_VERSION_1)
    connection.close()
    return path


def _version(path: Path) -> int:
    connection = sqlite3.connect(path)
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return version


def test_an_old_store_is_migrated_with_all_it_holds(old: Path) -> None:
    with Store(old) as store:
        assert store.info("r").created == "2026-01-02T03:04:05.678+00:00"
        assert store.points("r") == [{"point": "a", "status": "ok"}]
        assert len(store.points("r", history=True)) == 2
        store.add_pass("r", "b", {"pass": "timing"})
        assert store.add("r", point("b"))
        with store.lease("r"):
            pass

    assert _version(old) == VERSION


def test_an_old_store_can_be_looked_at_without_changing_it(old: Path) -> None:
    with Store(old, read_only=True) as store:
        assert store.statuses("r") == {"a": "ok"}

    assert _version(old) == 1


def test_a_migration_that_fails_leaves_the_old_store(old: Path) -> None:
    connection = sqlite3.connect(old)
    connection.execute("CREATE TABLE leases (run TEXT)")
    connection.close()

    with pytest.raises(StoreError, match="leases"):
        Store(old)

    connection = sqlite3.connect(old)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert _version(old) == 1
    assert "passes" not in tables


def test_two_processes_may_migrate_at_once(old: Path) -> None:
    errors: list[StoreError] = []

    def open_store() -> None:
        try:
            Store(old).close()
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=open_store) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert _version(old) == VERSION


@pytest.mark.parametrize("read_only", [False, True], ids=["write", "read"])
def test_a_newer_store_is_refused_in_one_line(path: Path, read_only: bool) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(StoreError, match="newer") as caught:
        Store(path, read_only=read_only)

    assert str(path) in str(caught.value)
    assert "version 99" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE places (url TEXT)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(StoreError, match="another program"):
        Store(path)

    assert path.read_bytes() == before
    assert json.dumps(sorted(file.name for file in tmp_path.iterdir())) == '["bookmarks.sqlite"]'
