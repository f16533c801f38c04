"""Measured allocator peaks of many points, one child process for all of them.

The peak is that of ``costlab profile``: the same program, the same pass of the worker. A child
is started once per batch because importing torch costs more than most of the points do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from costlab.measurement.point import PointSpec
from costlab.measurement.worker import serve


def measured_peaks(
    points: Sequence[PointSpec], predicted_bytes: Sequence[int]
) -> Iterator[Mapping[str, Any]]:
    """Yield ``{"peak_bytes", "operator"}`` or ``{"reason"}`` for each point, in order.

    ``peak_bytes`` counts parameters, buffers, inputs and upstream gradients, and what the pass
    allocates; ``operator`` is the outermost operator that reached the peak, looked up only where
    the peak is not the one predicted.
    """
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.peaks"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as child,
    ):
        assert child.stdin is not None and child.stdout is not None
        for point, expected in zip(points, predicted_bytes, strict=True):
            child.stdin.write(json.dumps([point.to_json(), expected]) + "\n")
            child.stdin.flush()
            answer = child.stdout.readline()
            if not answer:
                errors.seek(0)
                raise RuntimeError(f"the measuring process died at {point}:\n{errors.read()}")
            yield json.loads(answer)
        child.stdin.close()


def _measure(point: Mapping[str, Any], expected: int) -> dict[str, Any]:
    """The worker's memory pass; after a surprise once more, to see which operator peaks."""
    answers: list[Mapping[str, Any]] = []
    serve({"pass": "memory", "spec": point}, answers.append)
    answer = answers[0]
    if "peak_bytes" not in answer:
        return {"reason": answer.get("message") or answer.get("reason")}
    peak = answer["peak_bytes"]
    return {"peak_bytes": peak, "operator": _peaking_operator(point) if peak != expected else ""}


def _peaking_operator(point: Mapping[str, Any]) -> str:
    """The outermost operator running when the allocator's live bytes were highest."""
    from torch._C._autograd import DeviceType
    from torch.autograd.profiler import profile

    from costlab.measurement.program import build_runnable

    runnable = build_runnable(PointSpec(**point))
    with profile(profile_memory=True) as recorded:
        kept = runnable.run()
    del kept
    results = recorded.kineto_results
    assert results is not None
    events = [e for e in results.events() if e.device_type() == DeviceType.CPU]
    live = peak = at_ns = 0
    for _start, _index, event in sorted((e.start_ns(), i, e) for i, e in enumerate(events)):
        if event.name() != "[memory]":
            continue
        live += event.nbytes()
        if live > peak:
            peak, at_ns = live, event.start_ns()
    around = [
        e for e in events
        if e.name().startswith("aten::")
        and e.start_ns() <= at_ns <= e.start_ns() + e.duration_ns()
    ]  # fmt: skip
    return max(around, key=lambda e: e.duration_ns()).name() if around else ""


def main() -> None:
    """Answer every point on stdin with one line; stdout is kept for the answers alone."""
    protocol = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        protocol.write(json.dumps(_measure(*json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
