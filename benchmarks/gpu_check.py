"""Tries every CUDA path of CostLab on one GPU in less than 8 minutes, and keeps what it measured.

Run ``python -m benchmarks.gpu_check`` with the repository and its folder ``profiles`` on
PYTHONPATH; nothing needs to be installed but torch, numpy, sympy and psutil (nvidia-ml-py for the
readings of NVML). Sections run one after the other, each within its share of the time; one that
fails is written down with its traceback and the others go on. After every section the results are
written to ``--out`` (default: $OUT, else ``gpu_check``): ``gpu_check.json``, ``run.json`` (for
``costlab import``), ``profile.toml`` (for ``--device``) and a calibration for each dtype.
``--dry-run`` runs the same code on the CPU at tiny sizes. Exit status 1 if a section failed or a
check did not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import gpu_device, gpu_results
from benchmarks.gpu_profile import profile_text
from benchmarks.gpu_record import Check, Findings, Section, failures
from costlab.hardware.catalogue import load_profile
from costlab.measurement.process import SpawnedWorkers
from costlab.store.files import write_whole

SCHEMA = "costlab.gpu_check/1"
SECONDS = 450.0
_LATEST_S = 20.0  # how far past the end before the whole check is cut off


def profile(check: Check, until: float) -> Findings:
    """The device's measured rates as a profile that CostLab reads again."""
    del until
    reading = next(iter(check.nvml), {}).get("readings", {}).get("power_limit", {})
    path = check.out / "profile.toml"
    write_whole(path, profile_text(check.facts, check.records, reading.get("value")))
    for dtype, record in check.records.items():
        text = json.dumps(record.to_json(), indent=1)
        write_whole(check.out / f"calibration-{dtype}.json", text + "\n")
    loaded = load_profile(path)
    found = Findings({"name": loaded.name, "title": loaded.title})
    found.check("the profile can be read", loaded.matrix["float32"].value > 0, loaded.name)
    return found


# Section, and its share of the time; what a section leaves over goes to those after it.
SECTIONS: tuple[tuple[str, Section, float], ...] = (
    ("environment", gpu_device.environment, 0.05),
    ("workers", gpu_device.workers, 0.07),
    ("paths", gpu_device.paths, 0.10),
    ("calibration", gpu_results.calibration, 0.27),
    ("profile", profile, 0.01),
    ("operators", gpu_results.operators, 0.10),
    ("energy", gpu_device.energy, 0.06),
    ("out of memory", gpu_device.out_of_memory, 0.05),
    ("hang", gpu_device.hang, 0.06),
    ("sweep", gpu_results.sweep, 0.22),
    ("comparison", gpu_results.comparison, 0.01),
)


def run(check: Check, seconds: float, only: Sequence[str] = ()) -> dict[str, Any]:
    """Run the sections and return what was written to ``gpu_check.json``."""
    begin = time.monotonic()
    result: dict[str, Any] = {
        "schema": SCHEMA, "device": check.device, "dry_run": check.dry_run, "run": check.run,
        "sections": {},
    }  # fmt: skip
    chosen = [item for item in SECTIONS if not only or item[0] in only]
    for place, (name, section, share) in enumerate(chosen):
        start = time.monotonic()
        rest = sum(later for _name, _section, later in chosen[place:])
        until = start + (begin + seconds - start) * share / rest
        row: dict[str, Any] = {"status": "ok"}
        try:
            if until <= start:
                row = {"status": "skipped", "reason": "no time was left"}
            else:
                found = section(check, until)
                row |= {"checks": found.checks, "data": found.data}
        except Exception as error:
            row = {"status": "failed", "reason": f"{type(error).__name__}: {error}",
                   "traceback": traceback.format_exc()}  # fmt: skip
        row["seconds"] = round(time.monotonic() - start, 3)
        result["sections"][name] = row
        result["seconds"] = round(time.monotonic() - begin, 3)
        write_whole(check.out / "gpu_check.json", json.dumps(result, indent=1) + "\n")
        _say(name, row)
    return result


def _say(name: str, row: dict[str, Any]) -> None:
    checks = row.get("checks", [])
    counts = [sum(c[1] is verdict for c in checks) for verdict in (True, False, None)]
    line = f"{name}: {row['status']} in {row['seconds']} s; {counts[0]} checks hold,"
    print(f"{line} {counts[1]} do not, {counts[2]} do not apply", flush=True)
    for text in failures(checks):
        print(f"    NOT: {text[:300]}", flush=True)
    if row["status"] != "ok":
        print(f"    {row['reason']}", flush=True)
        print(row.get("traceback", ""), file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the device and say what did not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_check", description=__doc__)
    parser.add_argument("--device", default="cuda:0", help="default: cuda:0")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "gpu_check")))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all sections")
    parser.add_argument("--only", default="", help="names of sections, with commas")
    parser.add_argument("--dry-run", action="store_true", help="on the CPU, at tiny sizes")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    only = [name for name in args.only.split(",") if name]
    watchdog = threading.Timer(args.seconds + _LATEST_S, os._exit, [3])
    watchdog.daemon = True
    watchdog.start()
    with tempfile.TemporaryDirectory(prefix="gpu_check") as scratch:
        os.environ["COSTLAB_HOME"] = scratch
        check = Check(
            device="cpu" if args.dry_run else args.device,
            dry_run=args.dry_run,
            out=args.out,
            scratch=Path(scratch),
            run=time.strftime("gpu-check-%Y%m%dT%H%M%S", time.gmtime()),
            workers=SpawnedWorkers(1),
        )
        try:
            result = run(check, args.seconds, only)
        finally:
            check.close()
            watchdog.cancel()
    rows = result["sections"].values()
    bad = sum(row["status"] != "ok" for row in rows)
    untrue = sum(len(failures(row.get("checks", []))) for row in rows)
    print(f"{len(rows)} sections in {result['seconds']} s, {bad} failed; {untrue} checks do not"
          f" hold. Results in {args.out}")  # fmt: skip
    return int(bad > 0 or untrue > 0)


if __name__ == "__main__":
    sys.exit(main())
