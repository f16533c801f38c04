"""Sections of ``gpu_check`` about the device itself: facts, processes, ways of timing, energy.

A section takes the check and the moment at which it must end, and returns what it found. It may
raise: that is written down and the next one runs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from benchmarks.gpu_points import BRIEF, TINY, TRIAL, sizes_of
from benchmarks.gpu_record import Check, Findings, left
from costlab.devices import fingerprint
from costlab.devices.energy import energy_window
from costlab.devices.gpu import open_gpu, open_gpus
from costlab.devices.nvml_session import NvmlUnavailable
from costlab.devices.sampler import Sampler
from costlab.measurement.api import measure
from costlab.measurement.cuda_paths import PATHS
from costlab.measurement.fork_server import ForkedWorkers
from costlab.measurement.point import PointSpec
from costlab.measurement.process import Outcome, SpawnedWorkers

_TIMEOUT_S = 60.0
_OOM_LENGTH = 2**21  # full attention would need some 100 TB of scores
_IDLE_S, _LOAD_S = 5.5, 6.0


def environment(check: Check, until: float) -> Findings:
    """The machine, what CUDA says of the device, and every NVML reading with its reason."""
    found = Findings({"fingerprint": fingerprint().to_json()})
    outcome = check.job("facts", left(until))
    found.check("the device can be used", outcome.status == "ok", outcome.reason)
    check.facts = dict(outcome.message) if outcome.status == "ok" else {}
    check.uuid = check.facts.get("uuid", "")
    found.data["facts"] = check.facts
    try:
        readers = open_gpus()
    except NvmlUnavailable as error:
        found.data["nvml"] = {"reason": str(error)}
        found.check("NVML can be read", None if check.dry_run else False, error)
        return found
    check.nvml = [{"id": r.id, "name": r.name, **r.read().to_json()} for r in readers]
    found.data["nvml"] = check.nvml
    known = [reader.id for reader in readers]
    verdict = None if check.dry_run else check.uuid in known
    found.check("CUDA's UUID is one of NVML's", verdict, f"{check.uuid} in {known}")
    for reader in readers:
        reader.close()
    return found


def workers(check: Check, until: float) -> Findings:
    """Whether a process forked before CUDA was initialised can use the device."""
    found = Findings()
    forked = ForkedWorkers(1)
    # The second forked process shows what one costs when the server is up.
    for name, pool in (("spawned", SpawnedWorkers(1)), ("forked", forked), ("forked", forked)):
        start = time.monotonic()
        outcome = pool.run(_tiny_request(check), min(left(until), _TIMEOUT_S))
        found.data[name] = {
            "status": outcome.status, "reason": outcome.reason,
            "seconds": time.monotonic() - start, "message": dict(outcome.message),
        }  # fmt: skip
        found.check(f"a {name} process measures", outcome.status == "ok", outcome.reason)
    if found.data["forked"]["status"] == "ok":
        check.workers = forked
        peaks = {found.data[name]["message"]["peak_bytes"] for name in ("spawned", "forked")}
        found.check("both see the same peak", len(peaks) == 1, peaks)
    else:
        forked.__exit__(None, None, None)
    return found


def _tiny_request(check: Check) -> dict[str, Any]:
    spec = PointSpec("full_attention", sizes_of("full_attention", TINY), device=check.device)
    return {"pass": "memory", "spec": spec.to_json()}


def paths(check: Check, until: float) -> Findings:
    """Hot, cold, held and graph on programs of long and of short kernels."""
    found = Findings()
    size = TINY if check.dry_run else "small"
    dtype = "float32" if check.dry_run else "bfloat16"
    cases = (("flash_attention", "forward"), ("rnn_cell_loop", "forward"),
             ("full_attention", "train"))  # fmt: skip
    for name, mode in cases[: 1 if check.dry_run else None]:
        spec = PointSpec(name, sizes_of(name, size), mode, dtype, check.device)
        rows: dict[str, Mapping[str, Any]] = {}
        for path in PATHS:
            request = {"pass": "path", "spec": spec.to_json(), "path": path, "samples": 10,
                       "warm_calls": 3}  # fmt: skip
            outcome = check.workers.run(request, min(left(until), _TIMEOUT_S))
            rows[path] = {**outcome.message, "status": outcome.status, "reason": outcome.reason}
            found.check(f"{name} {mode}: {path} runs", outcome.status == "ok", outcome.reason)
        found.data[f"{name} {mode}"] = rows
        _check_paths(found, f"{name} {mode}", rows)
    return found


def _check_paths(found: Findings, label: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    times = {path: row.get("device_s") for path, row in rows.items()}

    def ratio(above: str, below: str, least: float, most: float) -> None:
        a, b = times.get(above), times.get(below)
        verdict = None if not a or not b else least <= a / b <= most
        detail = f"{a} / {b} s" if verdict is not None else rows[above].get("reasons", "")
        found.check(f"{label}: {above} over {below} in {least}..{most}", verdict, detail)

    ratio("cold", "hot", 0.85, 1e3)
    ratio("held", "hot", 0.0, 1.15)
    ratio("graph", "held", 0.3, 1.3)
    retries = [row.get("retries") for row in rows.values()]
    found.check(f"{label}: no allocator retries", not any(retries), retries)


def energy(check: Check, until: float) -> Findings:
    """The energy counter against the integral of power, idle and under load."""
    found = Findings()
    try:
        reader = open_gpu(check.uuid)
    except NvmlUnavailable as error:
        found.data["reason"] = str(error)
        found.check("energy can be read", None if check.dry_run else False, error)
        found.data["load"] = dict(_load(check, until).message)
        return found
    with Sampler([reader.read_energy], period_s=0.02) as sampler:
        time.sleep(min(_IDLE_S, max(left(until) / 3, 0.0)))
        idle = energy_window(sampler.samples)
        outcome = _load(check, until)
    found.data["load"] = dict(outcome.message)
    found.check("the load ran", outcome.status == "ok", outcome.reason)
    start_s, end_s = outcome.message.get("start_s", 0.0), outcome.message.get("end_s", 0.0)
    during = [sample for sample in sampler.samples if start_s <= sample.time_s <= end_s]
    window = energy_window(during, idle=idle)
    found.data |= {
        "idle": idle.to_json(), "window": window.to_json(), "sampler": asdict(sampler.cost),
        "readings_after_load": reader.read().to_json(), "samples": len(during),
    }  # fmt: skip
    apart = window.disagreement.value
    detail = f"{window.disagreement.to_json()}, {window.flags}"
    found.check("counter and power within 5 %", None if apart is None else apart <= 0.05, detail)
    used = window.energy.value
    found.check("energy was read", used is not None and used > 0, window.energy.to_json())
    reader.close()
    return found


def _load(check: Check, until: float) -> Outcome:
    seconds = 0.2 if check.dry_run else _LOAD_S
    return check.job("load", left(until), seconds=seconds, size=256 if check.dry_run else 8192)


def out_of_memory(check: Check, until: float) -> Findings:
    """A point that cannot fit is "oom" once, and the next one is measured."""
    found = Findings()
    sizes = {"b": 1, "n": _OOM_LENGTH, "d": 8, "h": 8}
    timing = TRIAL if check.dry_run else BRIEF
    for what, given, expected in (
        ("a point that does not fit", sizes, ("oom",)),
        ("the next point", sizes_of("full_attention", TINY), ("ok", "noisy")),
    ):
        result = measure(
            "full_attention", given, device=check.device, timeout_s=min(_TIMEOUT_S, left(until)),
            plan=timing, resident=False, energy=False, workers=check.workers,
        )  # fmt: skip
        found.data[what] = result.to_json()
        found.check(f"{what} is {' or '.join(expected)}", result.status in expected, result.reasons)
    return found


def hang(check: Check, until: float) -> Findings:
    """A kernel that does not end is killed by the parent, and the device works afterwards."""
    found = Findings()
    patience_s = 2.0 if check.dry_run else 12.0
    start = time.monotonic()
    outcome = check.job("hang", patience_s, seconds=patience_s)
    took_s = time.monotonic() - start
    found.data |= {"status": outcome.status, "reason": outcome.reason, "seconds": took_s}
    found.check("the hanging process is a time-out", outcome.status == "timeout", outcome.reason)
    found.check("it is gone in time", took_s < patience_s + 5.0, f"{took_s:.1f} s")
    after = check.workers.run(_tiny_request(check), left(until))
    found.check("the device works afterwards", after.status == "ok", after.reason)
    return found
