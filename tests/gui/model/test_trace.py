"""A trace opened to be scrubbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from costlab.devices.recording import Recording
from costlab.errors import InputError
from costlab_gui.model.trace import open_trace
from tests.devices.test_recording import READERS, record


def test_a_moment_has_what_was_known_then(tmp_path: Path) -> None:
    trace = open_trace(record(tmp_path / "trace.jsonl"))
    cpu, gpu = trace.devices

    assert (trace.begin_s, trace.end_s, trace.length_s) == (1.0, 2.0, 1.0)
    assert trace.at(cpu, 0.9) is None
    assert [trace.at(cpu, at) for at in (1.0, 1.9, 2.0, 99)] == [
        cpu.samples[0], cpu.samples[0], cpu.samples[1], cpu.samples[1]
    ]  # fmt: skip
    found = trace.at(gpu, 1.5)
    assert found is not None and found.get("power").value == pytest.approx(51.1)


def test_what_cannot_be_shown_is_one_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    Recording(empty, READERS, period_s=1.0).close()

    for path in (empty, tmp_path / "absent", tmp_path, Path(__file__)):
        with pytest.raises(InputError) as caught:
            open_trace(path)
        assert "\n" not in str(caught.value)
