"""``profile`` cut short and gone on with, its failures, and what ``runs`` says about them."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from costlab.cli.__main__ import main
from costlab.measurement.point import PointSpec
from costlab.measurement.process import Outcome
from costlab.store import connection, store
from tests.sweep.fakes import FakeWorkers

pytestmark = pytest.mark.usefixtures("unsynced")
_POINTS = ["lstm", "n=3,5,7,9", "d=16", "--repeats", "3"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


class _Command:
    """Calls commands on one store with workers that measure nothing."""

    def __init__(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._path = path
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *argv: str, workers: FakeWorkers | None = None) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        opened = (workers or FakeWorkers()).open
        self._monkeypatch.setattr("costlab.sweep.run.open_pair", opened)
        code = main([*argv, "--store", str(self._path)])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def profile(self, *options: str, workers: FakeWorkers | None = None) -> tuple[int, str, str]:
        return self("profile", *_POINTS, *options, workers=workers)

    def sizes(self) -> list[int]:
        """The sizes of the points that ``runs latest`` knows, with those measured again twice."""
        _code, out, _err = self("runs", "latest", "--json")
        return sorted(point["sizes"]["n"] for point in json.loads(out)["points"])


@pytest.fixture
def command(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> _Command:
    return _Command(path, monkeypatch, capsys)


def _dying(at: int) -> FakeWorkers:
    def answer(kind: str, spec: PointSpec) -> Outcome | None:
        if kind == "timing" and spec.sizes["n"] == at:
            return Outcome("oom_suspected", reason="killed by SIGKILL from outside")
        return None

    return FakeWorkers(answer=answer)


def test_a_failure_is_listed_left_alone_and_tried_again_on_request(command: _Command) -> None:
    assert command.profile(workers=_dying(5))[0] == 0
    _code, out, _err = command("runs")
    assert re.search(r"4/4 +1  lstm forward", out)
    assert "--retry-failed" in out
    _code, out, _err = command("runs", "latest")
    assert re.search(r"oom_suspected .* d=16 n=5 +killed by SIGKILL from outside", out)

    assert "nothing left to measure" in command.profile("--resume")[1]
    code, out, _err = command.profile("--retry-failed", "--json")
    *points, summary = map(json.loads, out.splitlines())
    assert code == 0
    assert [point["sizes"]["n"] for point in points] == [5]
    assert summary["statuses"] == {"ok": 1}

    _code, out, _err = command("runs", "--json")
    (run,) = json.loads(out)["runs"]
    assert (run["points"], run["planned"], run["failed"]) == (4, 4, 0)
    assert command.sizes() == [3, 5, 7, 9]


def test_a_run_goes_on_by_its_name_and_its_own_plan(command: _Command) -> None:
    command.profile(workers=_dying(5))
    _code, out, _err = command("runs", "--json")
    (run,) = json.loads(out)["runs"]
    code, out, _err = command("profile", "--retry-failed", "--run", run["run"], "--json")

    assert code == 0
    *points, summary = map(json.loads, out.splitlines())
    assert [point["sizes"]["n"] for point in points] == [5]
    assert summary["run"] == run["run"]


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--run", "latest"], "--resume"), (["lstm", "--run", "latest", "--resume"], "of its own"),
     (["--run", "nothing", "--resume"], "nothing")],
)  # fmt: skip
def test_a_run_to_go_on_with_is_named_rightly(
    words: list[str], said: str, command: _Command
) -> None:
    command.profile()
    code, _out, err = command("profile", *words)

    assert code == 2
    assert said in err


@pytest.mark.parametrize("strikes", [1, 2])
@pytest.mark.parametrize("at", [0, 1, 5, 13, 19])
def test_ctrl_c_at_any_pass_costs_nothing(at: int, strikes: int, command: _Command) -> None:
    def strike(kind: str, _spec: PointSpec) -> Outcome | None:
        if kind != "describe" and len(workers.ran) == at:
            for _time in range(strikes):
                os.kill(os.getpid(), signal.SIGINT)
        return None

    workers = FakeWorkers(answer=strike)
    code, _out, err = command.profile(workers=workers)
    rest = FakeWorkers()
    assert command.profile("--resume", workers=rest)[0] == 0

    # The last pass had begun when it came, and ended the sweep too: nothing was left to cancel.
    assert code == (0 if (at, strikes) == (19, 1) else 130)
    assert err.count("\n") == (1 if strikes == 2 else 0)
    assert len(workers.ran) + len(rest.ran) == 20
    assert command.sizes() == [3, 5, 7, 9]


def test_a_full_disk_is_one_line_and_resume_goes_on(
    command: _Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect_full(path: Path) -> sqlite3.Connection:
        opened = connection.connect(path)
        pages = opened.execute("PRAGMA page_count").fetchone()[0]
        opened.execute(f"PRAGMA max_page_count = {pages + 1}")
        return opened

    workers, rest = FakeWorkers(), FakeWorkers()
    with monkeypatch.context() as patch:
        patch.setattr(store, "connect", connect_full)
        code, _out, err = command.profile(workers=workers)
    assert code == 2
    assert err.count("\n") == 1
    assert "the disk takes no more" in err

    assert command.profile("--resume", workers=rest)[0] == 0
    assert 0 < len(workers.ran) < 20
    assert len(workers.ran) + len(rest.ran) <= 21
    assert command.sizes() == [3, 5, 7, 9]


def _newer(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 99")
    other.close()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda path: path.write_bytes(b"\xff" * 9000), "damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "damaged"),
        (_newer, "newer"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be opened"),
    ],
    ids=["corrupt", "cut", "newer", "folder"],
)
@pytest.mark.parametrize(
    "argv",
    [["profile", *_POINTS, "--resume"], ["runs"], ["runs", "latest"], ["compare", "latest"],
     ["export", "latest", "-o", "FOLDER/run.json"], ["import", "FOLDER/run.json"]],
    ids=lambda argv: argv[0],
)  # fmt: skip
def test_a_bad_store_is_one_line(
    damage: Any, says: str, argv: list[str], command: _Command, path: Path
) -> None:
    command.profile()
    command("export", "latest", "-o", str(path.with_name("run.json")))
    damage(path)

    code, _out, err = command(*(word.replace("FOLDER", str(path.parent)) for word in argv))

    assert code == 2
    assert err.count("\n") == 1
    assert says in err
    assert str(path) in err


def test_another_environment_is_named(
    command: _Command, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command.profile()
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")

    code, _out, err = command.profile("--resume")

    assert code == 2
    assert "another environment" in err


def test_a_drift_is_reported(command: _Command) -> None:
    workers = FakeWorkers(lambda tick: 1 + tick / 20)
    _code, out, _err = command.profile(workers=workers)
    assert re.search(r"times changed by \+\d+ %", out)

    _code, out, _err = command("runs", "latest")
    assert "times changed" in out


def test_stored_points_can_be_judged_again(
    command: _Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(1000))
    command.profile(workers=FakeWorkers(lambda _tick: 1.0 + next(ticks) % 3 / 100))
    before = command("runs", "latest", "--json")[1]
    assert "0 of 4 point(s) are judged differently" in command("runs", "latest", "--rejudge")[1]

    monkeypatch.setattr("costlab.measurement.judge.NOISY", -1.0)
    _code, out, _err = command("runs", "latest", "--rejudge")
    assert "4 of 4 point(s) are judged differently" in out
    assert out.count("noisy") == 4
    assert command("runs", "latest", "--json")[1] == before
