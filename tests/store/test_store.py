"""The store keeps what it acknowledged, never changes it, and can be read meanwhile."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from costlab.errors import InputError, StoreError, UnknownNameError
from costlab.store import Store, home
from tests.store.points import point as _point

_ROOT = Path(__file__).parents[2]
_WRITER = """
import sys
from pathlib import Path
from costlab.store import Store
with Store(Path(sys.argv[1])) as store:
    store.start_run("r", {}, {})
    for number in range(1_000_000):
        store.add("r", {"point": str(number), "status": "ok", "sizes": {}, "pad": "x" * 2000})
        print(number, flush=True)
"""
_HOLDER = """
import sys
from pathlib import Path
from costlab.store import Store
with Store(Path(sys.argv[1])) as store, store.lease("r"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_points_come_back_whole_and_in_order(path: Path) -> None:
    with Store(path) as store:
        assert store.add("r", _point("b"))
        assert store.add("r", _point("a"))

    with Store(path) as store:
        points = store.points("r")

    assert points == [{**_point("b"), "run": "r"}, {**_point("a"), "run": "r"}]


def test_the_same_content_is_kept_once(path: Path) -> None:
    with Store(path) as store:
        assert [store.add("r", _point("a")), store.add("r", _point("a"))] == [True, False]
        assert len(store.points("r", history=True)) == 1


def test_a_point_measured_again_replaces_the_earlier_one_but_for_the_history(path: Path) -> None:
    with Store(path) as store:
        store.add("r", _point("a", None, "timeout"))
        store.add("r", _point("b"))
        store.add("r", _point("a", 2.0))

        assert [(p["point"], p["time_s"]) for p in store.points("r")] == [("b", 1.0), ("a", 2.0)]
        assert len(store.points("r", history=True)) == 3
        assert store.statuses("r") == {"a": "ok", "b": "ok"}


def test_runs_are_listed_with_plan_and_count(path: Path) -> None:
    with Store(path) as store:
        store.add("r", _point("a"))
        store.start_run("r", {"seed": 8}, {})
        store.start_run("s", {}, {})

        runs = store.runs()

    assert [(run.run, run.points) for run in runs] == [("r", 1), ("s", 0)]
    assert runs[0].statuses == {"ok": 1}
    assert runs[0].plan == {"seed": 7}


@pytest.mark.parametrize("statement", ["UPDATE points SET status = 'ok'", "DELETE FROM points",
                                       "DELETE FROM runs"])  # fmt: skip
def test_nothing_can_be_changed(path: Path, statement: str) -> None:
    with Store(path) as store:
        store.add("r", _point("a"))
    connection = sqlite3.connect(path)

    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)

    connection.close()


def test_a_cancelled_result_hides_no_other(path: Path) -> None:
    with Store(path) as store:
        store.add("r", _point("a"))
        store.add("r", _point("a", None, "cancelled"))
        store.add("r", _point("b", None, "cancelled"))

        assert store.statuses("r") == {"a": "ok", "b": "cancelled"}


def test_a_clock_that_is_set_back_does_not_bring_an_old_result_back(path: Path) -> None:
    with Store(path) as store:
        store.add("r", _point("a", None, "oom"), "2999-01-01T00:00:00.000+00:00")
        store.add("r", _point("a", 2.0))

        assert store.statuses("r") == {"a": "ok"}


def test_passes_go_when_their_point_is_committed(path: Path) -> None:
    with Store(path) as store:
        store.add_pass("r", "a", {"pass": "timing", "number": 1})
        store.add_pass("r", "b", {"pass": "timing", "number": 2})
        store.add_pass("r", "a", {"pass": "memory", "number": 3})
        store.add("r", _point("a", None, "cancelled"))
        assert [kept["number"] for kept in store.passes("r", "a")] == [1, 3]
        store.add("r", _point("a"))

        assert store.passes("r", "a") == []
        assert [kept["number"] for kept in store.passes("r", "b")] == [2]


def test_a_run_is_measured_by_one_living_process(path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )  # fmt: skip
    assert holder.stdout is not None
    holder.stdout.readline()
    with Store(path) as store:
        with pytest.raises(StoreError, match=str(holder.pid)), store.lease("r"):
            pass
        store.start_run("other", {}, {})
        with store.lease("other"):
            pass
        holder.kill()
        holder.communicate()
        with store.lease("r"):
            pass


def test_an_unknown_run_names_the_nearest(path: Path) -> None:
    with Store(path) as store:
        store.start_run("20260101T000000-ab", {}, {})
        with pytest.raises(UnknownNameError) as caught:
            store.points("20260101T000000-ac")

    assert caught.value.nearest == ("20260101T000000-ab",)


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    for _ in range(3):
        before = 0
        if path.exists():
            with Store(path) as store:
                before = len(store.points("r"))
        acknowledged = _write_and_kill(path)
        with Store(path) as store:
            kept = {point["point"] for point in store.points("r")}

        assert acknowledged > 5
        assert {str(number) for number in range(acknowledged)} <= kept
        assert len(kept) >= before


def _write_and_kill(path: Path) -> int:
    """Let a process write until it has acknowledged a few points, then kill it."""
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    assert writer.stdout is not None
    lines = [writer.stdout.readline() for _ in range(7)]
    writer.send_signal(signal.SIGKILL)
    # What was acknowledged between the last line read and the kill counts too.
    lines += writer.stdout.readlines()
    writer.stdout.close()
    writer.wait()
    return sum(line.endswith(b"\n") for line in lines)


def test_several_writers_do_not_disturb_each_other(path: Path) -> None:
    def write(name: int) -> None:
        with Store(path) as store:
            for number in range(20):
                store.add("r", _point(f"{name}-{number}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with Store(path) as store:
        assert len(store.points("r")) == 80


def test_a_reader_sees_points_while_the_writer_is_open(path: Path) -> None:
    with Store(path) as writer, Store(path, read_only=True) as reader:
        writer.add("r", _point("a"))

        assert len(reader.points("r")) == 1


def test_a_reader_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Store(tmp_path / "none.sqlite", read_only=True)

    assert list(tmp_path.iterdir()) == []


def test_home_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COSTLAB_HOME", str(tmp_path))
    assert home() == tmp_path

    monkeypatch.delenv("COSTLAB_HOME")
    assert home().name == "costlab"


def test_without_the_package_that_knows_it_the_folder_must_be_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    monkeypatch.setenv("COSTLAB_HOME", str(tmp_path))
    assert home() == tmp_path

    monkeypatch.delenv("COSTLAB_HOME")
    with pytest.raises(InputError, match="COSTLAB_HOME"):
        home()
