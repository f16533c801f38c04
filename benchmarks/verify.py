"""Checks every catalogued formula against real runs at sizes it was not fitted at.

``python -m benchmarks.verify`` prints, per architecture, mode and class: how it was derived; at
how many of 20 random sizes the operator sequence, FLOP, bytes and launches equal a real run's and
the peak equals the run's live set; torch's own FLOP count; gaps; orders and the papers' claims;
whether the committed formulas are the derived ones; how long it took. It exits with 1 on any miss.
``--only NAME ...``, ``--sizes N``, ``--seed N``, ``--dtype T``. ``--write`` puts each entry's row
into README.md as soon as the entry is through, beside the rows of other entries that are there.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.clock import Took, timed
from benchmarks.torch_count import torch_flop
from benchmarks.verified import Claimed, Outcome, Row, write
from costlab.arch import registry


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


def _warm() -> None:
    """Import what derives, so that no program's time has it in it."""
    import costlab.derivation.work  # noqa: F401


def check_job(job: Job) -> tuple[Job, Outcome]:
    """Derive one program and check all its classes and claims."""
    took, (rows, claims, derived) = timed(partial(_checked, job))
    return job, Outcome(rows, claims, derived_s=derived.cpu_s, took_s=took.cpu_s)


def _checked(job: Job) -> tuple[list[Row], list[Claimed], Took]:
    try:
        return _check(job)
    except Exception as error:  # one failing program must not hide the others
        miss = f"{type(error).__name__}: {error}"
        return [Row(job.title, "", "failed", 0, 0, 0, "", "", "", "", [miss])], [], Took(0, 0)


def _check(job: Job) -> tuple[list[Row], list[Claimed], Took]:
    from costlab.derivation import work
    from costlab.sources.resolve import resolve

    source = resolve(job.architecture)
    tracer = work.SourceTracer(source, job.mode, job.dtype, job.options)
    with work.tracing("cpu"):
        took, found = timed(partial(work.classes_of, tracer, "cpu"))
        derivation = work.record_of(source, found, job.mode, job.dtype, "cpu", {}, job.options)
        rows = [
            _check_class(job, source, derivation, number, item, tracer)
            for number, item in enumerate(found)
        ]
    rows[0].misses += _check_committed(job, derivation)
    return rows, _check_claims(job, derivation, rows[0]), took


def _check_committed(job: Job, derivation: Any) -> list[str]:
    """Whether the formulas that are committed are those that the code gives now."""
    from costlab.formulas import store

    committed = store.load(job.architecture, job.mode, job.dtype, "cpu", job.options)
    if [c.cost for c in committed.classes] == [c.cost for c in derivation.classes]:
        return []
    return ["the committed formulas are others than those derived now"]


def _check_claims(job: Job, derivation: Any, row: Row) -> list[Claimed]:
    from costlab.formulas.document import document

    claims = []
    for entry in document(derivation, latex_too=False)["claims"]:
        if entry["agrees"] is None:
            continue
        claim, agrees, why = entry["claim"], entry["agrees"], entry["claim"]["differs"]
        said = (
            f"{job.title}: {claim['scope']} {claim['quantity']} {claim['order']} "
            f"({claim['source']}): derived {entry['derived_order']}, "
            + ("agrees" if agrees else "DIFFERS")
            + (f", explained: {why}" if why else "")
        )
        claims.append(Claimed(said, agrees, bool(why)))
        if agrees == bool(why):
            row.misses.append(said)
    return claims


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
    counts: list[str] = []
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
        if len(counts) < 3:
            given = {name: sizes[name] for name in source.symbols}
            program = partial(source.program, job.mode, given, job.options)
            counts.append(torch_flop(program, job.mode, job.dtype, record, full))
    row.torch_flop = "; ".join(dict.fromkeys(counts))
    if any(verdict.startswith("DIFFERS") for verdict in counts):
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


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=registry.names(), default=[], metavar="NAME")
    parser.add_argument("--sizes", type=int, default=20, help="a class; default: 20")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--dtype", default="float32", help="default: float32")
    parser.add_argument("--processes", type=int, default=2, help="default: 2")
    parser.add_argument("--write", action="store_true", help="the rows of README.md too")
    args = parser.parse_args(arguments)
    if args.write and args.dtype != "float32":
        parser.error("--write is for float32, which README.md shows")
    print(f"seed {args.seed}", flush=True)
    todo = jobs(args.only, args.dtype, args.sizes, args.seed)
    outcomes: list[Outcome] = []
    with multiprocessing.get_context("spawn").Pool(args.processes, _warm) as pool:
        ordered = pool.imap(check_job, todo)
        for name, group in itertools.groupby(ordered, key=lambda found: found[0].architecture):
            entry = []
            for job, outcome in group:
                entry.append(outcome)
                for row in outcome.rows:
                    _print(row)
                for claim in outcome.claims:
                    print(f"    {claim.said}")
                print(
                    f"  {job.title}: {outcome.took_s:.1f} s, {outcome.derived_s:.1f} s to derive",
                    flush=True,
                )
            outcomes += entry
            if args.write:
                write(name, entry)
    return int(_sum_up(outcomes))


def _sum_up(outcomes: Sequence[Outcome]) -> bool:
    """Print what all came to; whether anything is missed."""
    rows = [row for outcome in outcomes for row in outcome.rows]
    misses = sum(bool(row.misses) for row in rows)
    sizes = sum(row.sizes for row in rows)
    equal, peaks = sum(r.equal for r in rows), sum(r.peaks for r in rows)
    derived, took = sum(o.derived_s for o in outcomes), sum(o.took_s for o in outcomes)
    print(
        f"\n{len(rows)} classes of {len(outcomes)} programs; sequence and counts equal at "
        f"{equal} of {sizes} sizes, peak at {peaks} of {sizes}; {misses} classes with a miss; "
        f"{took:.0f} s of processor time, {derived:.0f} s of it to derive"
    )
    return bool(misses)


def _print(row: Row) -> None:
    print(
        f"{row.name} [{row.domain}] {row.derived}: {row.equal}/{row.sizes} runs equal, peak "
        f"{row.peaks}/{row.sizes}, torch {row.torch_flop}, gaps {row.gaps}, order {row.order}"
        + (f", core {row.core}" if row.core else "")
    )
    for miss in row.misses:
        print(f"    MISS {miss}")


if __name__ == "__main__":
    sys.exit(main())
