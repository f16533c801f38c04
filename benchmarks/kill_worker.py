"""Workers that measure nothing, for ``benchmarks.kills``: processes that answer what is asked.

They are forked from the sweep's own process, which takes milliseconds, and their answers are the
same every time, so that the results of a sweep that was killed can be compared with those of one
that was not.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any

from costlab.measurement.process import Cancelled, Outcome, death, outcome_of
from costlab.measurement.worker import die_with_parent

_PASS_S = 0.01


class FakeWorkers:
    """Runs each request in a process of its own."""

    def run(
        self, request: Mapping[str, Any], timeout_s: float, cancelled: Cancelled | None = None
    ) -> Outcome:
        parent = os.getpid()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            die_with_parent(parent)
            time.sleep(_PASS_S)
            os.write(writing, json.dumps(answer(request)).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            content = pipe.read()
        _pid, status = os.waitpid(pid, 0)
        if not content:
            return death(os.waitstatus_to_exitcode(status), "", None)
        return outcome_of(json.loads(content))


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The message of one pass; times in seconds."""
    kind, spec = request["pass"], request["spec"]
    n = spec["sizes"]["n"]
    if kind == "describe":
        return {"kind": kind, "sizes": spec["sizes"], "code": "code"}
    if kind == "timing":
        timing = {
            "median_s": n / 1000, "samples_s": [n / 1000] * 100, "first_call_s": n / 500,
            "warmup_calls": 6, "calls_per_sample": 1, "cpu_share": 1.0, "drift": 0.0,
            "relative_iqr": 0.0,
        }  # fmt: skip
        return {"kind": kind, "timing": timing, "sound": True}
    return {"kind": kind, "peak_bytes": 64 * n, "rss_peak_bytes": 4096 * n}
