"""The child process of a calibration: times every case in rounds and sends what it sees.

``python -m costlab.calibration.worker`` reads one request on stdin and writes JSON lines: one
``"overheads"`` and on a CPU one ``"widths"`` and one ``"results"`` per round, ``"case"`` messages
(the first of a case with its operators), and ``"done"``; or ``"rejected"``, an error of CostLab's
tree (there is no such device). Rounds after the common ones are for cases that never had a core to
themselves. It ends when they are done or the request's seconds are over: a slow machine measures
less.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, replace
from typing import Any

import torch

from costlab.calibration.gpu_suite import device_cases
from costlab.calibration.kernels import Kernel, build
from costlab.calibration.overheads import measure_overheads
from costlab.calibration.pricing import price_records
from costlab.calibration.suite import PASS, ROUNDS, Case
from costlab.calibration.width_times import width_times
from costlab.calibration.widths import RESULT_SWEEPS, SWEEPS
from costlab.errors import CostLabError, DerivationError
from costlab.measurement.backend import open_backend
from costlab.measurement.kept_memory import keep_freed_memory
from costlab.measurement.known_quickest import known_quickest_s
from costlab.measurement.memory import allocator_peak
from costlab.measurement.preload import preload
from costlab.measurement.shared_core import Core, tells, was_alone
from costlab.measurement.timing import (
    Stopwatch,
    TimingPlan,
    cpu_clock,
    time_process,
    wall_clock,
)
from costlab.measurement.worker import die_with_parent
from costlab.trace.tracker import Tracker

# The first round ends here, so that a second one tells how far timings repeat.
_FIRST_SHARE = 0.75
_MORE_ROUNDS = 6
# Whole programs are few, long, and what everything else is held against.
_PASS_PATIENCE = 8
# How often each width of the sweeps over widths is timed per round.
_WIDTH_REPEATS = {"trial": 0, "quickest": 0, "quick": 1, "full": 3}
_WINDOW_S = {"trial": 0.004, "quickest": 0.006, "quick": 0.015, "full": 0.04}


def run(request: Mapping[str, Any], send: Callable[[Mapping[str, Any]], None]) -> None:
    """Time the cases of ``request["level"]``, every second round backwards.

    A case that this device has no kernel or memory for, or an operator of which has no cost
    rule, is sent as "skipped" with the reason.
    """
    start = time.monotonic()
    end = start + request["seconds"]
    preload("train")
    keep_freed_memory()
    torch.manual_seed(1)
    torch.set_num_threads(request["threads"])
    device = torch.device(request["device"])
    stopwatch = _stopwatch(device, request["threads"])
    window_s = _WINDOW_S[request["level"]]
    plan = TimingPlan(
        warmup_s=window_s / 2,
        min_samples=3,
        min_time_s=window_s / 2,
        max_time_s=6 * window_s,
        patience_s=0.0,
    )
    core = Core(known_quickest_s()) if tells(device.type, request["threads"]) else None
    suite = list(enumerate(device_cases(request["level"], request["device"])))
    skipped: set[int] = set()
    alone: set[int] = set()
    for turn in range(ROUNDS + _MORE_ROUNDS):
        # Anew in every round: what disturbs the machine for seconds must not hit all of them.
        if turn == 0 or (turn < ROUNDS and time.monotonic() < end):
            dtype = getattr(torch, request["dtype"])
            overheads = measure_overheads(device, dtype, stopwatch, window_s, core)
            send({"kind": "overheads", **asdict(overheads)})
            repeats = _WIDTH_REPEATS[request["level"]]
            if repeats and device.type == "cpu":
                for kind, sweeps in (("widths", SWEEPS), ("results", RESULT_SWEEPS)):
                    visits = width_times(sweeps, request["dtype"], stopwatch, repeats, core)
                    send({"kind": kind, "visits": [
                        [[astuple(one) for one in seen] for seen in sweep] for sweep in visits
                    ]})  # fmt: skip
        limit = start + _FIRST_SHARE * request["seconds"] if turn == 0 else end
        round_ = suite if turn % 2 == 0 else suite[::-1]
        if turn > 0:
            # Those whose core was shared so far come first.
            round_ = sorted(round_, key=lambda item: item[0] in alone)
        for index, case in round_:
            if index in skipped or (turn >= ROUNDS and index in alone):
                continue
            if time.monotonic() > limit:
                suite = suite[:index] if turn == 0 else suite
                break
            try:
                # A shared core is waited for where there are others' timings already.
                patience_s = 0.0
                if turn > 0 and index not in alone:
                    patience_s = window_s * (_PASS_PATIENCE if case.table == PASS else 1)
                patient = replace(
                    plan, patience_s=patience_s, max_time_s=plan.max_time_s + patience_s
                )
                message = _time(case, request, patient, stopwatch, core, with_ops=turn == 0)
            except (RuntimeError, MemoryError, DerivationError) as error:
                skipped.add(index)
                message = {"kind": "skipped", "reason": str(error).splitlines()[0][:300]}
            if message.get("alone"):
                alone.add(index)
            send({**message, "index": index, "turn": turn})
    if core is not None:
        known_quickest_s(core.quickest_s)  # kept for later processes
    send({"kind": "done", "torch": torch.__version__})


def _time(
    case: Case,
    request: Mapping[str, Any],
    plan: TimingPlan,
    stopwatch: Stopwatch,
    core: Core | None,
    with_ops: bool,
) -> dict[str, Any]:
    kernel = build(case.kernel, case.shape, request["dtype"], request["device"])
    message: dict[str, Any] = {"kind": "case"}
    with torch.set_grad_enabled(kernel.grad):
        if with_ops:
            message["ops"] = [asdict(op) for op in traced(kernel, request["device"])]
            if case.table == PASS and request["device"] == "cpu":
                message["peak_bytes"] = _peak_bytes(kernel)
        if kernel.between is not None:
            kernel.between()
        timing = time_process(kernel.action, plan, stopwatch, kernel.between, core=core)
    return {**message, "time_s": timing.median_s, "alone": core is None or was_alone(timing)}


def _peak_bytes(kernel: Kernel) -> int:
    """Most bytes alive in one run of a whole program, those before it included."""
    if kernel.between is not None:
        kernel.between()
    return kernel.held_bytes + allocator_peak(kernel.action)


def traced(kernel: Kernel, device: str) -> Any:
    """The operators that one call of ``kernel`` runs, with their cost."""
    tracker = Tracker()
    for phase, action in kernel.parts():
        tracker.phase = phase
        with tracker:
            action()
    tracker.close()
    return price_records(tracker.ops, "cuda" if device.startswith("cuda") else "cpu")


def _stopwatch(device: torch.device, threads: int) -> Stopwatch:
    """CPU time for one thread, so that what others run meanwhile does not lower the rates."""
    if device.type == "cuda":
        backend = open_backend(str(device))
        return lambda action, calls: backend.time(action, calls).device_s
    return cpu_clock if threads == 1 else wall_clock


def main() -> None:
    """Serve one request with stdout reserved for the protocol."""
    protocol = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    die_with_parent(request["parent"])

    def send(message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=protocol, flush=True)

    try:
        run(request, send)
    except CostLabError as error:
        send({
            "kind": "rejected", "message": error.message, "given": error.given,
            "allowed": error.allowed, "advice": error.advice,
        })  # fmt: skip


if __name__ == "__main__":
    main()
