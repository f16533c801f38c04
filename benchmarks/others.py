"""Other benchmark tools on the function that CostLab is measured with."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from costlab.measurement.statistics import relative_width, repeat_interval

_ROOT = Path(__file__).resolve().parent.parent
_SETUP = "from benchmarks.measured import ready_attention; f = ready_attention()"
_STATEMENT = "f()"
# 97.5 % quantiles of Student's t by degrees of freedom; pyperf's own interval uses t too.
_T = dict(enumerate(
    (2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
     2.110, 2.101, 2.093), start=4,
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Study:
    """One study of the function: what it found, and when it was within 2 %.

    Attributes:
        tool: its name.
        middle_s: its figure for one call.
        interval_s: at 95 %, as the tool or its data give it.
        processes: timed ones.
        wall_s: all it took, or took until the interval was within 2 % if it came to that.
        called_s: of it, the time in the function.
        tight: whether the interval came to be within 2 % of the figure.
    """

    tool: str
    middle_s: float
    interval_s: tuple[float, float]
    processes: int
    wall_s: float
    called_s: float
    tight: bool


def pyperf_study(limit: float) -> Study:
    """``pyperf timeit`` with its defaults; the interval is Student's over process means."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "pyperf.json"
        begin = time.time()
        subprocess.run(
            [sys.executable, "-m", "pyperf", "timeit", "-q", "-o", str(out),
             "--inherit-environ", "PYTHONPATH,OMP_NUM_THREADS", "-s", _SETUP, _STATEMENT],
            check=True, stdout=subprocess.DEVNULL, env=_environment(), cwd=_ROOT,
        )  # fmt: skip
        wall_s = time.time() - begin
        runs = json.loads(out.read_text())["benchmarks"][0]["runs"]
    timed = [run for run in runs if "values" in run]
    means = [statistics.fmean(run["values"]) for run in timed]
    for count in range(5, len(means) + 1):
        width = _student(means[:count]) / statistics.fmean(means[:count])
        if width <= limit:
            return _of_pyperf(timed[:count], _ended(timed[count - 1]) - begin, tight=True)
    return _of_pyperf(timed, wall_s, tight=False)


def _of_pyperf(runs: list[dict[str, Any]], wall_s: float, *, tight: bool) -> Study:
    means = [statistics.fmean(run["values"]) for run in runs]
    middle, reach = statistics.fmean(means), _student(means)
    called = 0.0
    for run in runs:
        loops = run["metadata"].get("loops", 1)
        called += loops * sum(run["values"])
    return Study(
        "pyperf", middle, (middle - reach, middle + reach), len(runs), wall_s, called, tight
    )


def _ended(run: dict[str, Any]) -> float:
    metadata = run["metadata"]
    return datetime.fromisoformat(metadata["date"]).timestamp() + float(metadata["duration"])


def _student(means: list[float]) -> float:
    return _T[min(len(means) - 1, 19)] * statistics.stdev(means) / math.sqrt(len(means))


_TORCH = """
import json, sys, time
from torch.utils.benchmark import Timer
timer = Timer({statement!r}, {setup!r}, num_threads=1)
begin = time.perf_counter()
got = timer.adaptive_autorange(threshold={limit}, max_run_time=10)
print(json.dumps([got.times, got.iqr / got.median, time.perf_counter() - begin]))
"""


def torch_study(limit: float) -> Study:
    """``torch.utils.benchmark``'s stopping rule, at ``limit`` in place of its 10 %."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c",
         _TORCH.format(statement=_STATEMENT, setup=_SETUP, limit=limit)],
        check=True, capture_output=True, text=True, env=_environment(), cwd=_ROOT,
    )  # fmt: skip
    wall_s = time.perf_counter() - begin
    times, spread, called_s = json.loads(done.stdout)
    middle = statistics.median(times)
    interval = repeat_interval(times) if len(times) > 1 else None
    bounds = (middle, middle) if interval is None else (interval.low, interval.high)
    return Study(
        "torch.utils.benchmark", middle, bounds, 1, wall_s, called_s,
        spread <= limit and interval is not None and relative_width(interval, middle) <= limit,
    )  # fmt: skip


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
