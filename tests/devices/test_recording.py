"""A trace that is written is the trace that is read, also one that was cut off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from costlab.devices.readers import NullReader, TraceEnded
from costlab.devices.readings import Reading, Sample
from costlab.devices.recording import Recording, load_trace
from costlab.errors import InputError

READERS = [NullReader("cpu", {}, "not_read"), NullReader("gpu", {}, "not_read", id="GPU-1")]
SAMPLES = [
    Sample(time_s, 0.001, device, {"power": Reading(50 + time_s, "W", "field 186")})
    for time_s, device in ((1.0, "cpu"), (1.1, "GPU-1"), (2.0, "cpu"))
]


def record(path: Path) -> Path:
    recording = Recording(path, READERS, period_s=0.25)
    for sample in SAMPLES:
        recording.add(sample)
    recording.close()
    return path


def test_a_trace_is_played_as_it_was_taken(tmp_path: Path) -> None:
    readers, period_s = load_trace(record(tmp_path / "trace.jsonl"))

    assert period_s == 0.25
    assert [(one.id, one.kind) for one in readers] == [("cpu", "cpu"), ("GPU-1", "gpu")]
    assert [readers[0].read(), readers[1].read(), readers[0].read()] == [
        SAMPLES[0], SAMPLES[1], SAMPLES[2]
    ]  # fmt: skip
    with pytest.raises(TraceEnded):
        readers[1].read()


def test_the_header_says_on_what_machine(tmp_path: Path) -> None:
    header = json.loads(record(tmp_path / "trace").read_text().splitlines()[0])

    assert header["schema"] == "costlab.trace/1"
    assert len(header["environment"]["id"]) == 16


def test_a_trace_cut_anywhere_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    whole = record(tmp_path / "whole").read_bytes()
    lines = whole.splitlines(keepends=True)
    cut = tmp_path / "cut"
    for length in range(len(lines[0]), len(whole), 7):
        cut.write_bytes(whole[:length])

        readers, _period = load_trace(cut)

        found = 0
        for reader in readers:
            while True:
                try:
                    reader.read()
                except TraceEnded:
                    break
                found += 1
        ends = [sum(map(len, lines[: i + 1])) for i in range(1, len(lines))]
        # A line that lacks only its line break is whole.
        assert found == sum(end - 1 <= length for end in ends)


@pytest.mark.parametrize(
    "text",
    ["", "no json\n", "[1]\n", '{"schema": "costlab.run/1"}\n',
     '{"schema": "costlab.trace/1"}\n',
     '{"schema": "costlab.trace/1", "period_s": 1, "devices": [{}]}\n',
     '{"schema": "costlab.trace/1", "period_s": 1, "devices": []}\n{"time_s": 1}\n',
     '{"schema": "costlab.trace/1", "period_s": 1, "devices": []}\ntorn\n\n{}\n',
     '{"schema": "costlab.trace/1", "period_s": 1, "devices": []}\ntorn\n'],
)  # fmt: skip
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace"
    path.write_text(text)

    with pytest.raises(InputError, match="trace"):
        load_trace(path)
