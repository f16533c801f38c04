"""Progress of a command, for people and for programs."""

from __future__ import annotations

import io
import json

import pytest

from costlab.cli.progress import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_rewrites_its_line() -> None:
    stream = _Terminal()
    progress = Progress(stream=stream)
    progress("measuring")
    progress("done")
    progress.clear()

    assert stream.getvalue() == "\rmeasuring\rdone     \r    \r"


@pytest.mark.parametrize(("quiet", "stream"), [(True, _Terminal()), (False, io.StringIO())])
def test_progress_is_silent(quiet: bool, stream: io.StringIO) -> None:
    progress = Progress(quiet, stream)
    progress("measuring")
    progress.clear()

    assert stream.getvalue() == ""


def test_progress_for_a_program_is_json_lines_on_any_stream() -> None:
    stream = io.StringIO()
    progress = Progress(stream=stream, lines=True)
    progress("measuring", done=1, points=3, left_s=None)
    progress.clear()

    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"kind": "progress", "text": "measuring", "done": 1, "points": 3, "left_s": None}
    ]
