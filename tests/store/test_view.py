"""Looking at a store beside its writer."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from costlab.errors import StoreError
from costlab.store import Store
from costlab.store.view import StoreView
from tests.store.points import point as _point


def test_the_points_that_count_come_without_raw_samples(path: Path) -> None:
    with Store(path) as store:
        store.add("r", {**_point("unread", status="crash"), "asked": "unread"})
        for name, time_s, status in (("a", 1.0, "ok"), ("b", None, "crash"), ("b", 2.0, "ok")):
            store.add("r", {**_point(name, time_s, status), "asked": "unread"})
        store.add("r", _point("a", 9.0, "cancelled"))
        counted = store.points("r")
        with StoreView(path) as view:
            statuses = view.statuses("r")
            seen = view.points(tuple(statuses))

    for one in counted:
        del one["processes"]
    assert seen == counted
    assert [(one["point"], one["time_s"]) for one in seen] == [("a", 1.0), ("b", 2.0)]
    assert list(statuses.values()) == ["ok", "ok"]


def test_a_mark_moves_with_every_point_and_with_nothing_else(path: Path) -> None:
    with Store(path) as store, StoreView(path) as view:
        assert view.marks() == {}
        store.add("r", _point("a"))
        first = view.marks()
        store.add_pass("r", "b", {})
        assert view.marks() == first
        store.add("r", _point("b"))
        assert view.marks()["r"] > first["r"]


def test_a_run_is_measured_while_its_process_lives(path: Path) -> None:
    with Store(path) as store, StoreView(path) as view:
        assert view.measuring() == frozenset()
        with store.lease("r"):
            assert view.measuring() == {"r"}
        assert view.measuring() == frozenset()
        assert view.run("r").plan == {"seed": 7}
        assert view.names() == ["r"]


def test_a_held_store_is_said_at_once(path: Path) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN IMMEDIATE")
    holder.execute("INSERT INTO runs VALUES ('s', '', '{}', '{}')")
    start = time.monotonic()
    with pytest.raises(StoreError, match="another program holds the store"), StoreView(path) as v:
        v.names()

    assert time.monotonic() - start < 2
    holder.close()
