"""What a sweep takes beside its processes is measured, whatever it is here."""

from __future__ import annotations

import pytest

from benchmarks.sweep_cost import cost, main


def test_the_parts_are_within_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    found = cost(3)

    assert 0 < found["store"] < found["whole"]
    assert found["processor"] > 0
    assert 0 < found["resume"] < found["whole"]

    assert main(["--points", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
