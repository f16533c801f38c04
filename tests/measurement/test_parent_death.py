"""A worker ends with its parent, also where the system has no signal for that."""

from __future__ import annotations

import subprocess
import sys

_WORKER = """
import sys, threading
from costlab.measurement.worker import die_with_parent
sys.platform = "other"
die_with_parent(0)
print("waiting", flush=True)
threading.Event().wait()
"""


def test_without_a_signal_for_it_the_end_of_stdin_ends_a_worker() -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdin is not None and worker.stdout is not None
    assert worker.stdout.readline() == "waiting\n"
    assert worker.poll() is None
    worker.stdin.close()

    assert worker.wait(timeout=20) == 1
    worker.stdout.close()
