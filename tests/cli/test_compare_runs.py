"""``costlab compare RUN --against RUN2`` on stored runs: text, JSON, exit codes, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from costlab.cli.__main__ import main
from costlab.comparison.runs import compare_runs
from costlab.reporting.document import Table
from costlab.reporting.runs import runs_section
from costlab.store import Store
from tests.comparison.test_runs import point

BEFORE = [1.00, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.003]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    slower = [1.1 * value for value in BEFORE]
    with Store(path) as opened:
        for run, first in (("old", BEFORE), ("new", slower)):
            opened.start_run(run, {}, {})
            for number, (name, samples) in enumerate((("first", first), ("second", BEFORE))):
                flags = ["interference"] if (run, name) == ("new", "second") else []
                opened.add(run, point(name, 64, samples, point=f"{number}", flags=flags))
        opened.start_run("other", {}, {})
        opened.add("other", point("third", 64, BEFORE, point="9"))
    return path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["compare", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_text_names_the_slower_point(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, "new", "--against", "old", "--store", str(store))

    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if "n=64" in line}
    assert "slower" in lines["first"] and "1.100" in lines["first"]
    assert "same" in lines["second"]
    assert "s *" in lines["second"] and "* flagged: interference." in out


def test_json(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _code, out, _err = run(capsys, "new", "--against", "old", "--store", str(store), "--json")

    data: dict[str, Any] = json.loads(out)
    assert (data["schema"], data["run"], data["against"]) == (
        "costlab.compare-runs/1", "new", "old",
    )  # fmt: skip
    assert data["summary"]["verdicts"] == {"faster": 0, "slower": 1, "same": 1, "cannot tell": 0}
    first = data["points"][0]
    assert first["ratio"]["time"] == pytest.approx(1.1)
    assert first["interval"][0] < 1.1 < first["interval"][1]


@pytest.mark.parametrize(("limit", "code"), [("time=5%", 1), ("time=20%", 0), ("peak_bytes=1%", 0)])
def test_fail_over_is_wholly_beyond_the_limit(
    store: Path, capsys: pytest.CaptureFixture[str], limit: str, code: int
) -> None:
    found, _out, err = run(
        capsys, "new", "--against", "old", "--store", str(store), "--fail-over", limit
    )

    assert found == code
    assert ("first n=64: time grew by more than 5" in err) == bool(code)


def test_faster_is_no_failure(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _out, _err = run(
        capsys, "old", "--against", "new", "--store", str(store), "--fail-over", "time=1%"
    )

    assert code == 0


@pytest.mark.parametrize(
    ("against", "message"), [("other", "no point in common"), ("odl", "old")], ids=["none", "name"]
)
def test_bad_input_is_one_line(
    store: Path, capsys: pytest.CaptureFixture[str], against: str, message: str
) -> None:
    code, out, err = run(capsys, "new", "--against", against, "--store", str(store))

    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1


def test_report_of_run_against_run(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "runs.md"

    assert main(["report", "new", "--against", "old", "--store", str(store), "-o", str(path)]) == 0

    assert "| slower |" in path.read_text(encoding="utf-8")


def test_rows_stand_in_the_order_of_their_sizes() -> None:
    runs = [point("first", n, BEFORE) for n in (512, 64, 128)]

    (table,) = [
        block for block in runs_section(compare_runs(runs, runs)).blocks if isinstance(block, Table)
    ]

    assert [row[2] for row in table.rows] == ["n=64", "n=128", "n=512"]
