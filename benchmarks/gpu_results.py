"""Sections of ``gpu_check`` about CostLab's numbers: rates, operators, points, comparisons.

See ``gpu_device`` for what a section is.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.gpu_points import BRIEF, TRIAL, points, traced_programs
from benchmarks.gpu_record import Check, Findings, left
from costlab.algebra import as_expr
from costlab.calibration.api import calibrate
from costlab.comparison.api import compare
from costlab.devices import fingerprint
from costlab.errors import CostLabError
from costlab.formulas import store as formulas
from costlab.hardware.catalogue import load_profile, profile_names
from costlab.hardware.machine import Machine
from costlab.measurement.api import measure
from costlab.prediction.api import predict
from costlab.prediction.sizes import complete_sizes, select_class
from costlab.store import Store
from costlab.store.exchange import export_run

_POINT_S = 20.0
_COUNTED = ("flop", "bytes", "launches")


def calibration(check: Check, until: float) -> Findings:
    """Rates of the device in float32 and bfloat16."""
    found = Findings()
    dtypes = ("float32",) if check.dry_run else ("bfloat16", "float32")
    level = "trial" if check.dry_run else "quick"
    for place, dtype in enumerate(dtypes):
        end = time.monotonic() + left(until) / (len(dtypes) - place)
        record = calibrate(check.device, 1, dtype, level, cancelled=partial(_is_over, end))
        check.records[dtype] = record
        found.data[dtype] = record.to_json()
        rate = record.peak_flop_per_s
        found.check(f"{dtype}: matmul reaches a rate", rate > 0, f"{rate:.3g} FLOP/s")
        errors = sorted(abs(item.relative_error) for item in record.residuals)
        middle = errors[len(errors) // 2] if errors else None
        found.data[f"{dtype} median residual"] = middle
        found.check(f"{dtype}: cases left out", None, "; ".join(record.notes))
    return found


def _is_over(end: float) -> bool:
    return time.monotonic() > end


def operators(check: Check, until: float) -> Findings:
    """Operators of real runs on the device against the formulas of its backend."""
    found = Findings()
    programs = list(traced_programs(check.dry_run))
    outcome = check.job("operators", left(until), programs=programs, seconds=0.8 * left(until))
    found.check("programs could be traced", outcome.status == "ok", outcome.reason)
    for row in outcome.message.get("programs", ()):
        label = f"{row['architecture']} {row['mode']} {row['dtype']}"
        found.data[label] = row
        if "error" in row:
            found.check(f"{label}: runs", False, row["error"])
            continue
        found.check(f"{label}: every operator has a rule", not row["gaps"], row["gaps"])
        _compare_with_formula(found, label, row, check.backend)
    return found


def _compare_with_formula(found: Findings, label: str, row: dict[str, Any], backend: str) -> None:
    derivation = formulas.load(row["architecture"], row["mode"], row["dtype"], backend)
    full = complete_sizes(derivation, row["sizes"])
    chosen, values = select_class(derivation, full), {**full, "threads": 1}
    planned: Counter[str] = Counter()
    for group in chosen.groups:
        planned[group.op] += round(as_expr(group.calls).evaluate(values))
    real = Counter(row["operators"])
    row["only_in_formula"], row["only_in_run"] = dict(planned - real), dict(real - planned)
    row["formula"] = {}
    for name in _COUNTED:
        expr = chosen.cost[name].expr
        expected = None if expr is None else round(expr.evaluate(values))
        row["formula"][name] = expected
        detail = f"formula {expected}, run {row[name]}"
        found.check(f"{label}: {name}", None if expected is None else expected == row[name], detail)


def sweep(check: Check, until: float) -> Findings:
    """Points of every architecture into the store and the recorded run, one by one."""
    found = Findings()
    plan = list(points(check.device, check.dry_run))
    path = check.scratch / "runs.sqlite"
    timing = TRIAL if check.dry_run else BRIEF
    with Store(path) as store:
        settings = {"points": [spec.to_json() for spec in plan], "timing": asdict(timing)}
        store.start_run(check.run, settings, fingerprint().to_json())
        for spec in plan:
            if left(until) < (1.0 if check.dry_run else _POINT_S / 2):
                break
            try:
                result = measure(
                    spec.target, spec.sizes, mode=spec.mode, dtype=spec.dtype, device=spec.device,
                    repeats=3, timeout_s=min(_POINT_S, left(until)), plan=timing,
                    resident=False, energy=False, workers=check.workers,
                )  # fmt: skip
            except CostLabError as error:
                found.check(f"{spec.target} {spec.mode} {spec.dtype}", False, error)
                continue
            point = {**result.to_json(raw=True), "run": check.run}
            store.add(check.run, point)
            check.measured.append(point)
            export_run(store, check.run, check.out / "run.json")
    statuses = Counter(point["status"] for point in check.measured)
    found.data |= {"run": check.run, "planned": len(plan), "statuses": dict(statuses)}
    good = statuses["ok"] + statuses["noisy"]
    found.check("every measured point has a time", good == sum(statuses.values()), dict(statuses))
    return found


def comparison(check: Check, until: float) -> Findings:
    """Measured time and peak against predictions: calibrated, and by the datasheet if known."""
    del until
    found = Findings()
    sheet = _profile_of(check)
    for basis in ("calibrated", "datasheet"):
        if basis == "datasheet" and not sheet:
            found.data[basis] = None
            continue
        predicted, failed = [], []
        for point in check.measured:
            try:
                derivation = formulas.load(
                    point["architecture"], point["mode"], point["dtype"], check.backend
                )
                machine = (
                    Machine.from_calibration(check.records[point["dtype"]])
                    if basis == "calibrated"
                    else Machine.from_profile(load_profile(sheet), point["dtype"])
                )
                predicted.append(predict(derivation, point["sizes"], machine))
            except (CostLabError, KeyError) as error:
                failed.append(f"{point['architecture']} {point['mode']} {point['dtype']}: {error}")
        joined = compare(check.measured, predicted, check.run).to_json()
        found.data[basis] = {**joined, "failed": failed}
        found.check(f"{basis}: every point is predicted", not failed, failed[:3])
    _check_errors(found, check.dry_run)
    return found


def _check_errors(found: Findings, dry_run: bool) -> None:
    overall = found.data["calibrated"]["summary"]["overall"]
    for metric, limit in (("time", 0.35), ("peak_bytes", 0.01)):
        summary = overall.get(metric)
        # Times of tiny programs on rates of a trial say nothing of the model.
        told = summary is not None and not (dry_run and metric == "time")
        verdict = summary["median_ape"] <= limit if told else None
        found.check(f"median error of {metric} within {limit:.0%}", verdict, summary)


def _profile_of(check: Check) -> str:
    """The shipped profile of the device's model, "" if there is none."""
    name = str(check.facts.get("device", {}).get("name", ""))
    words = [word for word in name.replace("-", " ").split() if any(c.isdigit() for c in word)]
    for known in profile_names():
        if words and known.split("-")[0].lower() == words[0].lower():
            return known
    return ""
