"""The runs of a store as the app shows them, beside whoever writes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from costlab.devices import fingerprint
from costlab.store import Store
from costlab_gui.model.runs import AT_ONCE, Runs

_PLAN = {"points": [{"target": "lstm", "mode": "forward"}, {"target": "lstm", "mode": "train"}]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as store:
        store.start_run("old", _PLAN, {"id": "elsewhere"}, "2026-01-01")
        store.start_run("new", _PLAN, {"id": fingerprint().id}, "2026-01-02")
        yield store


def _point(name: str, status: str = "ok") -> dict[str, Any]:
    return {"point": name, "status": status, "architecture": "lstm", "processes": [1, 2]}


def test_runs_with_their_counts_newest_first(path: Path, store: Store) -> None:
    store.add("old", _point("a"))
    store.add("old", _point("b", "crash"))
    runs = Runs()

    assert runs.look(path)
    assert [line.run for line in runs.lines] == ["new", "old"]
    old = runs.lines[1]
    assert (old.done, old.failed, old.left, old.elsewhere) == (2, 1, 0, True)
    assert old.programs == ("lstm forward", "lstm train")
    assert runs.lines[0].left == 2
    assert "1 failed" in old.state()


def test_points_land_as_they_are_committed(path: Path, store: Store) -> None:
    runs = Runs()
    runs.look(path)
    assert runs.points() == ()
    assert not runs.look(path)

    store.add("new", _point("a"))
    assert runs.look(path)
    assert [point["point"] for point in runs.points()] == ["a"]
    assert "processes" not in runs.points()[0]
    assert not runs.look(path)


def test_latest_follows_the_newest_run(path: Path, store: Store) -> None:
    store.add("new", _point("a"))
    runs = Runs()
    runs.look(path)
    store.start_run("newest", _PLAN, {"id": "e"}, "2026-01-03")
    store.add("newest", _point("b"))
    runs.look(path)

    assert [point["point"] for point in runs.points()] == ["b"]
    runs.look(path, ["new", "latest", "newest", "gone"])
    assert [point["point"] for point in runs.points()] == ["a", "b"]


def test_a_large_run_is_read_in_parts(path: Path, store: Store) -> None:
    for number in range(AT_ONCE + 1):
        store.add("new", _point(str(number)))
    runs = Runs()
    assert runs.look(path)
    assert (len(runs.points()), runs.complete) == (AT_ONCE, False)

    assert runs.look(path)
    assert (len(runs.points()), runs.complete) == (AT_ONCE + 1, True)
    assert not runs.look(path)


def test_a_run_that_is_being_measured(path: Path, store: Store) -> None:
    runs = Runs()
    with store.lease("new"):
        runs.look(path)
        assert runs.lines[0].running
    assert runs.look(path)
    assert not runs.lines[0].running


def test_a_store_that_is_not_there_is_no_problem(path: Path) -> None:
    runs = Runs()
    runs.look(path)
    assert (runs.lines, runs.problem) == ((), "")

    with Store(path) as store:
        store.start_run("r", _PLAN, {})
        assert runs.look(path)
    assert [line.run for line in runs.lines] == ["r"]


def test_a_damaged_store_is_one_sentence_and_keeps_what_was_read(path: Path, store: Store) -> None:
    runs = Runs()
    runs.look(path)
    store.close()
    path.write_bytes(b"no store at all" * 100)

    assert runs.look(path)
    assert "damaged" in runs.problem
    assert "\n" not in runs.problem
    assert len(runs.lines) == 2
    assert not runs.look(path)


def test_a_newer_store_is_one_sentence(path: Path, store: Store) -> None:
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    runs = Runs()
    runs.look(path)

    assert "newer" in runs.problem


def test_a_held_store_is_read_when_it_is_free_again(path: Path, store: Store) -> None:
    store.close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN IMMEDIATE")
    runs = Runs()
    runs.look(path)
    assert "another program holds the store" in runs.problem

    holder.close()
    assert runs.look(path)
    assert (runs.problem, len(runs.lines)) == ("", 2)
