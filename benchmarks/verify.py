"""Checks every catalogued formula against real runs at sizes it was not fitted at.

``python -m benchmarks.verify`` prints, per architecture, mode and class: how it was derived; at
how many of 20 random sizes the operator sequence, FLOP, bytes and launches equal a real run's and
the peak equals the run's live set; torch's own FLOP count; gaps; orders and the papers' claims.
It exits with 1 on any miss. ``--only NAME``, ``--sizes N``, ``--seed N``, ``--dtype T``.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.tables import write_between
from costlab.arch import registry


@dataclass(slots=True)
class Row:
    """What one class came out as; ``misses`` are sentences, empty when all is equal."""

    name: str
    domain: str
    derived: str
    equal: int
    peaks: int
    sizes: int
    torch_flop: str
    gaps: str
    order: str
    core: str
    misses: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    architecture: str
    mode: str
    options: Mapping[str, bool]
    dtype: str
    sizes: int
    seed: int

    @property
    def title(self) -> str:
        flags = [name for name, value in self.options.items() if value]
        return " ".join([self.architecture, self.mode, *flags])


def jobs(only: Sequence[str], dtype: str, sizes: int, seed: int) -> list[Job]:
    found = []
    for name in only or registry.names():
        spec = registry.spec(name)
        for mode in spec.modes:
            flags = spec.flags(mode)
            for values in itertools.product(*flags.values()):
                chosen = {k: v for k, v in zip(flags, values, strict=True) if v}
                found.append(Job(name, mode, chosen, dtype, sizes, seed))
    return found


def check_job(job: Job) -> tuple[Job, list[Row], list[str], float]:
    """Derive one program and check all its classes and claims."""
    start = time.monotonic()
    try:
        rows, claims = _check(job)
    except Exception as error:  # one failing program must not hide the others
        miss = f"{type(error).__name__}: {error}"
        rows, claims = [Row(job.title, "", "failed", 0, 0, 0, "", "", "", "", [miss])], []
    return job, rows, claims, time.monotonic() - start


def _check(job: Job) -> tuple[list[Row], list[str]]:
    from costlab.derivation import work
    from costlab.formulas.document import document
    from costlab.sources.resolve import resolve

    source = resolve(job.architecture)
    tracer = work.SourceTracer(source, job.mode, job.dtype, job.options)
    with work.tracing("cpu"):
        found = work.classes_of(tracer, "cpu")
        derivation = work.record_of(source, found, job.mode, job.dtype, "cpu", {}, job.options)
        rows = [
            _check_class(job, source, derivation, number, item, tracer)
            for number, item in enumerate(found)
        ]
    claims = []
    for entry in document(derivation, latex_too=False)["claims"]:
        if entry["agrees"] is not None:
            claim = entry["claim"]
            verdict = "agrees" if entry["agrees"] else "DIFFERS"
            claims.append(
                f"{job.title}: {claim['scope']} {claim['quantity']} {claim['order']} "
                f"({claim['source']}): derived {entry['derived_order']}, {verdict}"
            )
            if claim["differs"]:
                claims[-1] += f", explained: {claim['differs']}"
            if entry["agrees"] == bool(claim["differs"]):
                rows[0].misses.append(claims[-1])
    return rows, claims


def _check_class(
    job: Job, source: Any, derivation: Any, number: int, item: Any, tracer: Any
) -> Row:
    from costlab.derivation.engine import Run, live_peak

    derived, record = item.derived, derivation.classes[number]
    rng = random.Random(f"{job.seed} {job.title} {number}")
    known = [*derived.fitted_at, *derived.verified_at]
    row = Row(
        job.title,
        ", ".join(map(str, record.domain)),
        derivation.derived + (f", re-rolled {derived.trip}" if derived.trip else ""),
        0, 0, 0, "", ", ".join(derived.gaps) or "none", *_orders(derivation, record),
    )  # fmt: skip
    if derived.gaps:
        row.misses.append("gaps: " + row.gaps)
    torch_flop: list[str] = []
    while row.sizes < job.sizes:
        sizes = derived.model.sample(rng, derived.trip, range(1, 31), far=True)
        if sizes in known or not record.holds(derivation.complete(sizes)):
            continue
        row.sizes += 1
        trace = tracer(sizes)
        run = Run.of(trace, "cpu")
        problem = _compare(derived, record, derivation, run, sizes)
        row.equal += problem is None
        full = {**derivation.complete(sizes), "threads": 1}
        peak = record.cost["peak_bytes"].expr.evaluate(full)
        row.peaks += peak == live_peak(run)
        if problem or peak != live_peak(run):
            at = " ".join(f"{k}={v}" for k, v in sizes.items() if not k.startswith("_"))
            row.misses.append(f"{at}: {problem or f'peak {peak} against {live_peak(run)}'}")
        if len(torch_flop) < 3:
            torch_flop.append(_torch_flop(job, source, record, full, sizes))
    row.torch_flop = torch_flop[0] if len(set(torch_flop)) == 1 else "; ".join(torch_flop)
    if any(verdict.startswith("DIFFERS") for verdict in torch_flop):
        row.misses.append(row.torch_flop)
    return row


def _compare(
    derived: Any, record: Any, derivation: Any, run: Any, sizes: Mapping[str, int]
) -> str | None:
    """The recorded formulas, in the user's symbols, against the rules over a real run."""
    from costlab.algebra import total
    from costlab.derivation.engine import as_number
    from costlab.derivation.totals import COUNTED

    trip = sizes[derived.trip] if derived.trip else 0
    if not derived.alignment.describes(run.trace, trip):
        return "another operator sequence"
    full = {**derivation.complete(sizes), "threads": 1}
    for name in COUNTED:
        formula = record.cost[name].expr
        if formula is None:
            continue
        value = formula.evaluate(full)
        count = as_number(total(p.quantity(name) for p in run.priced), full)
        if abs(value - count) > 1e-9 * abs(count) * isinstance(value, float):
            return f"{name} {value} against {count}"
    return None


def _orders(derivation: Any, record: Any) -> tuple[str, str]:
    from costlab.formulas.document import tie
    from costlab.formulas.order import order, order_in_expr

    expr = tie(record.cost["flop"].expr, derivation)
    each = ", ".join(
        f"{s}: {order_in_expr(expr, s)}" for s in derivation.sizes if s in expr.symbols()
    )
    core = record.cost["flop"].core
    in_core = "" if core is None else str(order(tie(core, derivation), record.domain))
    return f"{order(expr, record.domain)} ({each})", in_core


def _torch_flop(
    job: Job, source: Any, record: Any, full: Mapping[str, int], sizes: Mapping[str, int]
) -> str:
    """torch's FlopCounterMode on ``meta``, or with its own attention formulas on the CPU."""
    import torch

    from costlab.sources.program import prepare, run, upstream_gradients

    formula = record.cost["flop_matmul"].expr.evaluate(full)
    given = {name: sizes[name] for name in source.symbols}
    fused = job.mode == "train" and _has_fused_attention(record)
    device = "cpu" if fused else "meta"
    try:
        with torch.device(device):
            program = prepare(source.program(job.mode, given, job.options), job.mode, job.dtype)
            gradients = upstream_gradients(program) if job.mode == "train" else ()
            with _counter(fused) as counter:
                run(program, job.mode, gradients)
    except (RuntimeError, NotImplementedError) as error:
        return f"no count on {device}: {str(error).splitlines()[0][:60]}"
    counted = counter.get_total_flops()
    if counted == formula:
        return "equal on meta" if device == "meta" else "equal with torch's attention formulas"
    return f"DIFFERS: torch counts {counted}, formula {formula} at {dict(given)}"


def _has_fused_attention(record: Any) -> bool:
    return any(g.kind == "attention" for g in record.groups)


def _counter(fused: bool) -> Any:
    import torch
    from torch.utils.flop_counter import (
        FlopCounterMode,
        sdpa_backward_flop_count,
        sdpa_flop_count,
    )

    ops = torch.ops.aten

    def forward(q: Any, k: Any, v: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
        return int(sdpa_flop_count(q, k, v))  # type: ignore[no-untyped-call]

    def backward(
        grad: Any, q: Any, k: Any, v: Any, *_: Any, out_shape: Any = None, **__: Any
    ) -> int:
        return int(sdpa_backward_flop_count(grad, q, k, v))  # type: ignore[no-untyped-call]

    def convolution(
        grad: Any, x: Any, weight: Any, *args: Any, out_shape: Any = None, **_: Any
    ) -> int:
        """Each of the gradients of input and weight is as much work as the convolution."""
        gradients = sum(args[-1][:2])
        return int(gradients * 2 * math.prod(grad) * math.prod(weight[1:]))

    if not fused:
        # torch multiplies the gradient of the weight by the number of groups.
        return FlopCounterMode(
            display=False, custom_mapping={ops.convolution_backward: convolution}
        )
    return FlopCounterMode(
        display=False,
        custom_mapping={
            ops._scaled_dot_product_flash_attention_for_cpu: forward,
            ops._scaled_dot_product_flash_attention_for_cpu_backward: backward,
        },
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--sizes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args(arguments)
    print(f"seed {args.seed}", flush=True)
    todo = jobs(args.only, args.dtype, args.sizes, args.seed)
    rows: list[Row] = []
    claims: list[str] = []
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        for job, found, stated, seconds in pool.imap(check_job, todo):
            rows += found
            claims += stated
            for row in found:
                _print(row)
            print(f"  {job.title}: {seconds:.1f} s", flush=True)
    print("\n".join(["", "claims", *claims]))
    misses = sum(bool(row.misses) for row in rows)
    sizes = sum(row.sizes for row in rows)
    equal, peaks = sum(r.equal for r in rows), sum(r.peaks for r in rows)
    print(
        f"\n{len(rows)} classes of {len(todo)} programs; sequence and counts equal at "
        f"{equal} of {sizes} sizes, peak at {peaks} of {sizes}; {misses} classes with a miss"
    )
    if not args.only and args.dtype == "float32":
        write_between("verify", _summary(rows, claims))
    return 1 if misses else 0


def _print(row: Row) -> None:
    print(
        f"{row.name} [{row.domain}] {row.derived}: {row.equal}/{row.sizes} runs equal, peak "
        f"{row.peaks}/{row.sizes}, torch {row.torch_flop}, gaps {row.gaps}, order {row.order}"
        + (f", core {row.core}" if row.core else "")
    )
    for miss in row.misses:
        print(f"    MISS {miss}")


def _summary(rows: Sequence[Row], claims: Sequence[str]) -> str:
    """The README's table: one line per program, its classes together."""
    lines = [
        "| program | classes | runs equal | peak equal | torch's FLOP count | core order |",
        "|---|---|---|---|---|---|",
    ]
    for name, group in itertools.groupby(rows, key=lambda r: r.name):
        items = list(group)
        verdicts = sorted({r.torch_flop.split(":")[0] for r in items})
        lines.append(
            f"| {name} | {len(items)} | {sum(r.equal for r in items)}/{sum(r.sizes for r in items)}"
            f" | {sum(r.peaks for r in items)}/{sum(r.sizes for r in items)} | "
            f"{', '.join(verdicts)} | `{items[0].core or items[0].order.split(' (')[0]}` |"
        )
    agreeing = sum(c.endswith("agrees") for c in claims)
    explained = sum(", explained: " in c for c in claims)
    lines += [
        "",
        f"{agreeing} of {len(claims)} claims of the papers agree with the derived order"
        + (f", {explained} differ for a reason that the entry gives." if explained else "."),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
