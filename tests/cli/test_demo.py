"""``costlab demo`` hands the real engines of this machine to the job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from costlab.calibration.records import save
from costlab.cli.__main__ import main
from costlab.devices import fingerprint
from costlab.reporting import demo
from tests.hardware.records import calibration


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the job by one that uses each engine once, on something small."""
    found: dict[str, Any] = {}

    def run_demo(
        derive: Any,
        measure: Any,
        calibrate: Any,
        out: Path,
        progress: Any,
        say: Callable[..., None],
    ) -> int:
        progress("starting", 0.0)
        found["out"] = out
        found["derived"] = derive("feed_forward", mode="forward")
        found["measured"] = measure(
            "feed_forward", {"n": 5, "d": 8, "f": 12}, mode="forward", budget_s=20.0
        )
        found["calibrated"] = calibrate()
        say("all done")
        return 1

    monkeypatch.setattr(demo, "run_demo", run_demo)
    return found


def test_demo(seen: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A calibration of this machine that still holds is used again; the exit code is the job's."""
    record = replace(calibration(), environment=fingerprint())
    save(record)

    assert main(["demo", "-o", str(tmp_path / "page.html")]) == 1

    assert seen["out"] == tmp_path / "page.html"
    assert seen["derived"].architecture == "feed_forward"
    assert seen["measured"].time_s > 0
    assert seen["measured"].sizes == {"b": 1, "n": 5, "d": 8, "f": 12}
    assert seen["calibrated"] == record
    assert capsys.readouterr().out == "all done\n"
