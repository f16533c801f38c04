"""Why a worker ended, from what can be seen of it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from costlab.measurement import process
from costlab.measurement.process import MemoryState, death, memory_state, oom_kills

_GIB = 2**30


@pytest.mark.parametrize(
    ("peak_gib", "status"), [(0.5, "crash"), (7.9, "crash"), (8.1, "oom_suspected")]
)
def test_a_kill_is_suspicious_only_near_the_memory_that_was_free(
    peak_gib: float, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "oom_kills", lambda: 3)

    outcome = death(-signal.SIGKILL, "", MemoryState(3, 10 * _GIB), int(peak_gib * _GIB))

    assert outcome.status == status
    assert "SIGKILL" in outcome.reason


def test_a_kill_of_the_kernels_is_suspicious_whatever_was_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "oom_kills", lambda: 4)

    outcome = death(-signal.SIGKILL, "", MemoryState(3, 10 * _GIB), 1)

    assert outcome.status == "oom_suspected"


def test_a_kill_is_never_called_out_of_memory_outright() -> None:
    for state in (MemoryState(None, None), MemoryState(0, 1)):
        assert death(-signal.SIGKILL, "", state, None).status == "oom_suspected"


def test_other_deaths_are_crashes_with_what_they_said() -> None:
    state = MemoryState(0, _GIB)

    assert "exit code 3; oh" in death(3, "oh", state).reason
    assert "SIGSEGV" in death(-signal.SIGSEGV, "", state).reason


def test_memory_before_a_worker_is_known_here() -> None:
    state = memory_state()

    assert state.available_bytes is not None and state.available_bytes > 2**20


def test_the_kernels_count_is_read_where_it_is(tmp_path: Path) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("nr_free_pages 12\noom_kill 5\n")

    assert oom_kills(vmstat) == 5
    assert oom_kills(tmp_path / "none") is None
