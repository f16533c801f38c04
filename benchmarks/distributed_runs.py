"""Starts the ranks of a distributed run as child processes and brings back what each counted.

Ranks meet at a file, so no port is needed. They share a process group, which is killed at the
time-out, as soon as one of them fails, and when this process is done with them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.distributed_model import Sizes
from costlab.planning.parallel import Plan

_ROOT = Path(__file__).resolve().parent.parent
_SIZES = Sizes()


class RankError(RuntimeError):
    """A rank failed or did not end in time; carries what the ranks wrote."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program of :data:`benchmarks.distributed_rank.PROGRAMS` under a plan.

    ``data`` says whether tensors have data on the fake backend: FSDP2 cuts those much faster into
    many shares, and with tensor parallelism it joins meshes, which are numbers.
    """

    id: str
    name: str
    plan: Plan
    sizes: Sizes = _SIZES
    data: bool = False


def run(
    cases: Sequence[Case],
    ranks: int,
    *,
    backend: str = "gloo",
    wire: bool = False,
    timeout_s: float = 120.0,
    module: str = "benchmarks.distributed_rank",
) -> list[dict[str, Any]]:
    """Per rank, what each case counted, by the case's id (and "wire").

    The backend "fake" has one process, which is rank 0 of as many ranks as each plan has.

    Raises:
        RankError: if a rank fails or the time is up.
    """
    with tempfile.TemporaryDirectory() as folder:
        request = {
            "backend": backend,
            "ranks": ranks,
            "folder": folder,
            "wire": wire,
            "cases": [asdict(case) for case in cases],
        }
        said = _finish(module, request, timeout_s)
        files = [Path(folder, f"rank{rank}.json") for rank in range(ranks)]
        if not all(file.is_file() for file in files):
            raise RankError(f"{ranks} ranks: not all of them ended well:\n{said}")
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def _finish(module: str, request: dict[str, Any], timeout_s: float) -> str:
    """Run a module with a request on its standard input; what it wrote to standard error."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module], cwd=_ROOT, stdin=subprocess.PIPE, stderr=errors,
            text=True, start_new_session=True,
        )  # fmt: skip
        try:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it ended at once, and says why
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise RankError(f"{module} was not done after {timeout_s:g} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            with contextlib.suppress(BrokenPipeError):
                if process.stdin is not None:
                    process.stdin.close()
        errors.seek(0)
        return errors.read()
