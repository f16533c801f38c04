"""The child process that measures: reads one JSON request on stdin, writes JSON lines on stdout.

``python -m costlab.measurement.worker`` serves one request. What the measured module prints goes
to stderr, so that stdout carries the protocol alone. The answer's ``kind`` is the name of the
pass, ``"rejected"`` (bad input, an error of CostLab's tree) or ``"failed"`` (with a status).
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from costlab.errors import CostLabError
from costlab.measurement.backend import Backend, open_backend
from costlab.measurement.memory_errors import is_out_of_memory
from costlab.measurement.point import PointSpec
from costlab.measurement.timing import TimingPlan

if TYPE_CHECKING:
    from costlab.measurement.program import Runnable

Send = Callable[[Mapping[str, Any]], None]


def serve(request: Mapping[str, Any], send: Send) -> None:
    """Run one pass and send what came out; failures are messages too."""
    try:
        message = _PASSES[request["pass"]](request)
        send({**message, "cpu_s": sum(os.times()[:4])})
    except CostLabError as error:
        send({
            "kind": "rejected", "error": type(error).__name__, "message": error.message,
            "given": error.given, "allowed": error.allowed, "advice": error.advice,
        })  # fmt: skip
    except Exception as error:
        status = "oom" if is_out_of_memory(error) else "crash"
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:500]
        send({"kind": "failed", "status": status, "reason": reason})


def _describe(request: Mapping[str, Any]) -> dict[str, Any]:
    """The target's sizes with defaults filled in, and the hash of its code."""
    from costlab.sources import resolve

    spec = PointSpec(**request["spec"])
    source = resolve(spec.target)
    source.factory(spec.mode)
    return {
        "kind": "describe", "sizes": source.complete(spec.sizes), "code": source.fingerprint,
    }  # fmt: skip


def _prepare(request: Mapping[str, Any]) -> tuple[PointSpec, Backend, Runnable]:
    import torch

    from costlab.measurement.program import build_runnable

    spec = PointSpec(**request["spec"])
    torch.set_num_threads(spec.threads)
    return spec, open_backend(spec.device), build_runnable(spec)


def _timing(request: Mapping[str, Any]) -> dict[str, Any]:
    from costlab.measurement.timed_pass import timed_pass

    spec, backend, runnable = _prepare(request)
    return timed_pass(
        spec, backend, runnable, TimingPlan(**request["plan"]), vary=request.get("vary", True)
    )


def _memory(request: Mapping[str, Any]) -> dict[str, Any]:
    from costlab.measurement.timed_pass import varied_signature

    _spec, backend, runnable = _prepare(request)
    # Kernels keep what they set up in their first call; the formula speaks of later ones. That
    # call tells what the varied inputs give in a process that has computed nothing yet.
    fresh = varied_signature(runnable)
    peaks = backend.peaks(runnable.run, runnable.resident_bytes())
    return {"kind": "memory", **asdict(peaks), "fresh": fresh}


def _resident(request: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    from costlab.measurement.memory import resident_peak_bytes
    from costlab.measurement.program import build_runnable

    # The program's tensors come on top of this, so the difference of the two is the program's.
    baseline = resident_peak_bytes()
    spec = PointSpec(**request["spec"])
    torch.set_num_threads(spec.threads)
    runnable = build_runnable(spec)
    kept = runnable.run()
    peak = resident_peak_bytes()
    del kept
    return {"kind": "resident", "rss_peak_bytes": peak, "rss_baseline_bytes": baseline}


def _energy(request: Mapping[str, Any]) -> dict[str, Any]:
    """Call for ``window_s``, while the parent reads the device."""
    spec, backend, runnable = _prepare(request)
    between = runnable.reset if spec.mode == "train" else None
    runnable.run()
    backend.synchronize()
    calls, start_s = 0, time.monotonic()
    while time.monotonic() - start_s < request["window_s"]:
        if between is not None:
            between()
        backend.time(runnable.run, 1)
        calls += 1
    return {
        "kind": "energy", "calls": calls, "start_s": start_s, "end_s": time.monotonic(),
    }  # fmt: skip


def _path(request: Mapping[str, Any]) -> dict[str, Any]:
    """One way of timing by itself: ``path`` of the request is one of ``cuda_paths.PATHS``."""
    from costlab.measurement.cuda_paths import time_path
    from costlab.measurement.program import is_sound

    _spec, backend, runnable = _prepare(request)
    for _call in range(request["warm_calls"]):
        runnable.reset()
        sound = is_sound(runnable.run())
    times = time_path(backend, request["path"], runnable.run, runnable.reset, request["samples"])
    return {"kind": "path", **asdict(times), "sound": sound, "uuid": backend.uuid}


_PASSES = {
    "describe": _describe, "timing": _timing, "memory": _memory, "resident": _resident,
    "energy": _energy, "path": _path,
}  # fmt: skip


def main() -> None:
    """Serve one request with stdout reserved for the protocol."""
    protocol = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())

    def send(message: Mapping[str, Any]) -> None:
        protocol.write(json.dumps(message) + "\n")
        protocol.flush()

    die_with_parent(request["parent"])
    serve(request, send)


def die_with_parent(parent: int) -> None:
    """End this process when the one that started it dies, however that happens.

    Without it, a worker whose parent was killed would measure on and disturb the next run. Linux
    does it itself; elsewhere a thread waits for the end of stdin, which the parent holds open.
    """
    if sys.platform == "linux":
        import ctypes
        import signal

        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    else:
        threading.Thread(target=_die_with_stdin, daemon=True).start()


def _die_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
