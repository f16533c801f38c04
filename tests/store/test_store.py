"""The store keeps what it acknowledged, never changes it, and can be read meanwhile."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from costlab.errors import InputError, UnknownNameError
from costlab.store import Store, home
from costlab.store.exchange import export_run, import_run

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


def _point(point: str, time_s: float | None = 1.0, status: str = "ok") -> dict[str, Any]:
    return {
        "point": point, "status": status, "architecture": "a", "mode": "forward",
        "sizes": {"n": 3, "d": 5}, "time_s": time_s, "time_interval_s": [0.5, 1.5],
        "samples": [1.0], "flags": ["drift", "interference"], "reasons": {"energy_j": "none"},
        "processes": [{"samples_s": [1.0, 1.25]}],
    }  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "new folder" / "runs.sqlite"
    with Store(path) as store:
        store.start_run("r", {"seed": 7}, {"id": "e"})
    return path


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
    with pytest.raises(InputError):
        Store(tmp_path / "none.sqlite", read_only=True)

    assert list(tmp_path.iterdir()) == []


def test_other_files_and_newer_stores_are_refused(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("no database, and long enough to have a header " * 50)
    with pytest.raises(InputError, match=r"notes\.txt"):
        Store(other)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="newer"):
        Store(path)


def test_json_export_can_be_imported_elsewhere(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    with Store(path) as store:
        store.add("r", _point("a", None, "timeout"))
        store.add("r", _point("a"))
        export_run(store, "r", file)
        expected = store.points("r", history=True)

    with Store(tmp_path / "other.sqlite") as other:
        assert import_run(other, file) == ("r", 2)
        assert import_run(other, file) == ("r", 0)
        assert other.points("r", history=True) == expected
        assert other.runs()[0].plan == {"seed": 7}


def test_csv_export_has_a_row_per_point(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    with Store(path) as store:
        store.add("r", _point("a"))
        store.add("r", _point("b", None, "oom"))
        export_run(store, "r", file)

    with file.open(newline="") as stream:
        first, second = csv.DictReader(stream)

    assert (first["n"], first["d"], first["time_s"]) == ("3", "5", "1.0")
    assert (first["time_low_s"], first["time_high_s"]) == ("0.5", "1.5")
    assert first["flags"] == "drift interference"
    assert (second["status"], second["time_s"]) == ("oom", "")


def test_a_bad_export_or_import_says_what_is_allowed(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        with pytest.raises(InputError, match=r"\.csv"):
            export_run(store, "r", tmp_path / "run.txt")
        wrong = tmp_path / "wrong.json"
        wrong.write_text(json.dumps([1, 2]))
        with pytest.raises(InputError, match=r"costlab\.run/1"):
            import_run(store, wrong)
        with pytest.raises(InputError, match="JSON"):
            import_run(store, tmp_path / "missing.json")


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
