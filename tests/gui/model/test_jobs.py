"""The state of a job as its child's output comes in."""

from __future__ import annotations

import json

import pytest

from costlab_gui.model.jobs import CANCELLED, DONE, FAILED, RUNNING, Command, Job


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _job(clock: _Clock | None = None, unit: str = "", kept: str = "") -> Job:
    command = Command("Measuring", ("profile", "lstm", "n=8"), unit=unit, kept=kept)
    job = Job(command, clock or _Clock())
    job.start()
    return job


def _progress(**facts: object) -> bytes:
    return (json.dumps({"kind": "progress", "text": "lstm", **facts}) + "\n").encode()


def test_lines_are_taken_whole_however_the_pipe_cuts_them() -> None:
    job = _job()
    data = '{"kind": "point", "time_s": 1}\n{"kind": "point", "sizes": "µ"}\nplain\n'.encode()
    heard = [line for at in range(len(data)) for line in job.hear(data[at : at + 1])]

    assert [line["kind"] for line in heard] == ["point", "point"]
    assert heard[1]["sizes"] == "µ"
    assert job.output == "plain"


def test_a_document_over_several_lines_is_the_answer() -> None:
    job = _job()
    job.hear(json.dumps({"schema": "s/1", "rows": [1]}, indent=2).encode())
    job.end(0)

    assert job.state == DONE
    assert job.answer == {"schema": "s/1", "rows": [1]}


def test_progress_is_told_from_what_else_is_on_stderr() -> None:
    clock = _Clock()
    job = _job(clock, unit="points")
    clock.now += 40
    assert job.hear_errors(b"a warning\n" + _progress(done=3, points=12, left_s=35.0))

    assert job.errors == "a warning\n"
    assert job.status() == "3 of 12 points · 40 s · about 35 s left"


def test_a_share_tells_the_time_that_is_left() -> None:
    clock = _Clock()
    job = _job(clock)
    clock.now += 10
    job.hear_errors(_progress(share=0.25))

    assert job.left_s == 30
    assert job.status() == "25 % · 10 s · about 30 s left"


@pytest.mark.parametrize(
    ("code", "crashed", "cancel", "state"),
    [(0, False, False, DONE), (0, False, True, DONE), (130, False, False, CANCELLED),
     (130, False, True, CANCELLED), (9, True, True, CANCELLED), (9, True, False, FAILED),
     (2, False, False, FAILED)],
)  # fmt: skip
def test_how_a_job_ends(code: int, crashed: bool, cancel: bool, state: str) -> None:
    job = _job()
    if cancel:
        job.cancel()
        assert job.state == RUNNING
    job.end(code, crashed=crashed)

    assert job.state == state
    assert job.ended


def test_a_failure_says_why_and_what_is_kept() -> None:
    job = _job(kept="Points that ended are kept")
    job.hear_errors(b"Traceback\ncostlab: no such size: q")
    job.end(2)

    assert job.status() == "no such size: q. Points that ended are kept"
    report = job.report()
    assert "$ costlab profile lstm n=8" in report
    assert "failed, exit code 2" in report
    assert "Traceback" in report


def test_a_waiting_job_is_cancelled_at_once() -> None:
    job = Job(Command("Measuring", ("profile",)))
    job.cancel()

    assert job.state == CANCELLED
    assert job.elapsed_s == 0
