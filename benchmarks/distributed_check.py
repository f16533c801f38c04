"""The planner's bytes and memory per rank against real training steps of ``torch.distributed``.

``python -m benchmarks.distributed_check`` runs steps on 2 and 4 ranks of gloo on the CPU, and as
one of up to 16384 ranks of the fake backend; counts the bytes of every collective by a dispatch
mode and what each rank holds, and prints both beside the formulas. Exit status 1 if a count of
bytes differs at all, or memory or what gloo sends by more than 1 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.distributed_model import Sizes, planned
from benchmarks.distributed_runs import Case, run
from benchmarks.tables import machine, markdown_table, write_between
from costlab.planning.collectives import collectives
from costlab.planning.memory import Cut, rank_memory
from costlab.planning.parallel import Plan
from costlab.planning.precision import PRECISIONS, Precision

PAGE = Path(__file__).resolve().parent.parent / "docs" / "distributed.md"
_WITHIN = 0.01
_TRAFFIC = ("program", "ranks", "group", "collective", "direction", "formula, B", "counted, B", "")
_MEMORY = ("program", "ranks", "kind", "formula, B", "held, B", "error", "")
_WIRE = ("collective", "ranks", "formula", "sent", "")
_SQUARE = 4
_NO_DATA = ("weights", "gradients", "activations")  # no step of the optimizer without data
_FP32 = PRECISIONS["fp32"]
_BF16 = PRECISIONS["bf16"].weights
_MIXED = replace(_FP32, name="bf16 passes", activations=_BF16, gathered=_BF16)


_SIZES = Sizes()
_EVEN = Sizes(V=512)
_BLOCKS = Sizes(V=0, n=128)
_ROUTED = Sizes(experts=8, per_token=2, depth=2)
_LARGE = Sizes(d=4096, h=32, f=16384, depth=2, V=50304, n=128)
_SMALL = Sizes(d=1024, h=8, f=4096, depth=2, V=4096, n=128)


@dataclass(frozen=True, slots=True)
class Check:
    """A run and what the planner is asked about it."""

    case: Case
    title: str
    precision: Precision = _FP32
    cut: Cut = "flat"
    regather: bool = True
    kinds: tuple[str, ...] = ("weights", "gradients", "optimizer", "activations")
    more: int = 0  # bytes of gradients that the program keeps beyond its share
    squared: int = 0  # bytes of the result, which the mean square keeps where there is no head


@dataclass(frozen=True, slots=True)
class Line:
    """One figure by formula and as counted."""

    check: Check
    stage: int
    names: tuple[str, ...]
    formula: float
    counted: float
    allowed: float

    @property
    def error(self) -> float:
        """Relative, of the formula."""
        return abs(self.formula - self.counted) / max(self.counted, 1)

    @property
    def met(self) -> bool:
        return self.error <= self.allowed

    def cells(self) -> list[str]:
        error = [f"{100 * self.error:.2f} %"] if self.allowed else []
        plan = self.check.case.plan
        stage = f", stage {self.stage + 1}" if plan.pp > 1 else ""
        return [
            self.check.title + stage, f"{plan.devices:,}", *self.names,
            f"{self.formula:,.0f}", f"{self.counted:,.0f}", *error,
            ("within" if self.allowed else "equal") if self.met else "DIFFERS",
        ]  # fmt: skip


def checks(ranks: int) -> list[Check]:
    """All runs on ``ranks`` ranks of gloo."""
    data = {"dp": ranks, "micro": 2}
    deep = Sizes(depth=2 * ranks)
    return [
        _check("DDP", "ddp", Plan(**data, zero=0)),
        _check("DDP, 3 passes", "ddp", Plan(**data, zero=0, accumulation=3)),
        _check("ZeroRedundancyOptimizer", "zero1", Plan(**data, zero=1), cut="tensors"),
        _check("FSDP2", "fsdp", Plan(**data, zero=3), cut="rows"),
        _check("FSDP2, 3 passes", "fsdp", Plan(**data, zero=3, accumulation=3), cut="rows"),
        _check("FSDP2, bfloat16 passes", "fsdp_mixed", Plan(**data, zero=3), cut="rows",
               precision=_MIXED),
        _check("tensor", "tensor", Plan(tp=ranks, micro=2, zero=0, sequence=0), _EVEN,
               more=_whole_embedding(_EVEN, ranks)),
        _check("tensor and sequence", "tensor", Plan(tp=ranks, micro=2, zero=0), _BLOCKS,
               regather=False, squared=2 * _BLOCKS.n * _BLOCKS.d * 4 // ranks),
        _check("experts, FSDP2 for the rest", "experts", Plan(**data, ep=ranks, zero=3), _ROUTED,
               cut="rows", kinds=("weights", "gradients", "optimizer")),
        _check("GPipe", "pipeline", Plan(pp=ranks, accumulation=6, gpipe=1, zero=0)),
        _check("1F1B", "pipeline", Plan(pp=ranks, accumulation=6, zero=0)),
        _check("interleaved 1F1B, 2 chunks a rank", "pipeline",
               Plan(pp=ranks, accumulation=2 * ranks, interleave=2, zero=0), deep),
    ]  # fmt: skip


def _whole_embedding(sizes: Sizes, ranks: int) -> int:
    """What DTensor holds beyond a rank's share: its rows' gradient is a view of all rows'."""
    return sizes.V * sizes.d * 4 * (ranks - 1) // ranks


def squares() -> list[Check]:
    """Two kinds of parallelism at once, on 4 ranks of gloo."""
    plan = Plan(dp=2, tp=2, micro=2, zero=3, sequence=0)
    return [_check("FSDP2 x tensor", "fsdp_tensor", plan, _EVEN, cut="rows")]


def fakes() -> list[Check]:
    """Runs at sizes and numbers of ranks that no machine here has."""
    return [
        *(
            _check("FSDP2", "fsdp", Plan(dp=ranks, zero=3), _LARGE, cut="rows", kinds=_NO_DATA)
            for ranks in (64, 1024)
        ),
        *(
            _check(title, name, plan, _SMALL, data=True, cut="rows", kinds=_NO_DATA)
            for title, name, plan in (
                ("FSDP2", "fsdp", Plan(dp=16384, zero=3)),
                ("FSDP2 x tensor", "fsdp_tensor", Plan(dp=128, tp=8, zero=3, sequence=0)),
            )
        ),
    ]


def _check(
    title: str, name: str, plan: Plan, sizes: Sizes = _SIZES, *, data: bool = False, **about: Any
) -> Check:
    text = f"{title}, {plan.text()}, {plan.gpipe}"
    return Check(Case(text, name, plan, sizes, data), title, **about)


def traffic_lines(check: Check, counted: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Bytes of each collective on the first rank, and of a pipeline on the last too.

    What only the formula or only the run knows of is compared with 0.
    """
    plan, sizes = check.case.plan, check.case.sizes
    for stage in _stages(plan):
        formula: dict[tuple[str, str, str], float] = defaultdict(float)
        for item in collectives(planned(sizes), plan, sizes.n, check.precision, rank=stage,
                                cut=check.cut, regather=check.regather):  # fmt: skip
            formula[item.group, item.kind, item.phase] += item.bytes
        seen = {
            (row["group"], row["kind"], row["phase"]): row["bytes"]
            for row in counted[stage]["traffic"]
            if row["kind"] != "receive"  # another rank's send
        }
        for key in sorted(formula.keys() | seen.keys()):
            group, kind, phase = key
            names = (group, kind.replace("_", "-"), phase)
            yield Line(check, stage, names, formula[key], seen.get(key, 0), 0.0)


def memory_lines(check: Check, counted: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Bytes by kind of the rank that holds most; of a pipeline, of its first and last rank."""
    plan, sizes = check.case.plan, check.case.sizes
    for stage in _stages(plan):
        found = rank_memory(planned(sizes), plan, sizes.n, check.precision, rank=stage,
                            cut=check.cut, regather=check.regather)  # fmt: skip
        ranks = [counted[stage]] if plan.pp > 1 else counted
        for kind in check.kinds:
            most = max(one[kind] for one in ranks)
            beside = {"gradients": check.more, "activations": check.squared}.get(kind, 0)
            formula = float(getattr(found, kind)) + beside
            yield Line(check, stage, (kind,), formula, most, _WITHIN)


def _stages(plan: Plan) -> tuple[int, ...]:
    return (0, plan.pp - 1) if plan.pp > 1 else (0,)


def compare(
    wanted: Sequence[Check],
    ranks: int,
    *,
    backend: str = "gloo",
    wire: bool = False,
    timeout_s: float = 200.0,
) -> tuple[list[Line], list[Line], list[Mapping[str, float | None]]]:
    """Run the checks: lines of traffic and of memory, and what each rank's connections carried."""
    cases = [check.case for check in wanted]
    found = run(cases, ranks, backend=backend, wire=wire, timeout_s=timeout_s)
    traffic: list[Line] = []
    memory: list[Line] = []
    for check in wanted:
        counted = [one[check.case.id] for one in found]
        unknown = {name for one in counted for name in one["unknown"]}
        if unknown:
            raise ValueError(f"operators that nobody counts: {', '.join(sorted(unknown))}")
        traffic += traffic_lines(check, counted)
        memory += memory_lines(check, counted)
    return traffic, memory, [one["wire"] for one in found] if wire else []


def _ring(name: str, ranks: int) -> float:
    """Bytes that a rank sends per byte of the array; of a broadcast, the mean of the ranks."""
    factor = {"all_reduce": 2.0, "send": ranks / (ranks - 1)}.get(name, 1.0)
    return factor * (ranks - 1) / ranks


_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send")
_AS_ALL_REDUCE = "reduce_scatter"  # what gloo runs for it


def wire_rows(found: Sequence[Mapping[str, float | None]]) -> tuple[list[list[str]], bool]:
    """Bytes a rank sends per byte of the array, mean of the ranks; whether all are as they should.

    gloo's reduce-scatter is an all-reduce, and is compared with that.
    """
    rows, good = [], True
    for name in _KINDS:
        values = [one[name] for one in found]
        sent = [value for value in values if value is not None]
        expected = _ring("all_reduce" if name == _AS_ALL_REDUCE else name, len(found))
        mean = sum(sent) / len(sent) if sent else None
        met = mean is None or abs(mean - expected) <= _WITHIN * expected
        good &= met
        rows.append([
            name.replace("_", "-"), str(len(found)), f"{_ring(name, len(found)):.3f}",
            "not told" if mean is None else f"{mean:.3f}",
            "" if mean is None else "DIFFERS" if not met
            else "gloo runs an all-reduce" if name == _AS_ALL_REDUCE else "within",
        ])  # fmt: skip
    return rows, good


PARTS = ("2", "4", "fake")
"""The runs: ranks of gloo, and the fake backend."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The cells of one part's tables; whether all is as it should be, and the seconds it took."""

    traffic: list[list[str]]
    memory: list[list[str]]
    wires: list[list[str]]
    good: bool
    seconds: float


def find(part: str, only: str = "") -> Findings:
    """Run one of :data:`PARTS`; of ``only``, the programs whose title has it."""
    start = time.monotonic()
    fake = part == "fake"
    ranks = 1 if fake else int(part)
    wanted = fakes() if fake else [*checks(ranks), *(squares() if ranks == _SQUARE else ())]
    wanted = [check for check in wanted if only in check.title]
    backend = "fake" if fake else "gloo"
    traffic, memory, sent = compare(wanted, ranks, backend=backend, wire=not (fake or only))
    wires, met = wire_rows(sent) if sent else ([], True)
    return Findings(
        [line.cells() for line in traffic], [line.cells() for line in memory], wires,
        met and all(line.met for line in (*traffic, *memory)), time.monotonic() - start,
    )  # fmt: skip


def kept(part: str, folder: Path) -> Findings:
    """What ``folder`` has of a part; else it is run, and put there."""
    file = folder / f"{part}.json"
    if file.is_file():
        return Findings(**json.loads(file.read_text(encoding="utf-8")))
    found = find(part)
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(found)), encoding="utf-8")
    return found


def tables(found: Mapping[str, Findings]) -> str:
    """The page's tables of the parts that ran."""
    real = [one for name, one in found.items() if name != "fake"]
    lines: list[str] = []
    if real:
        lines += [
            "On ranks of gloo, bytes of a step:", "",
            _table(_TRAFFIC, [row for one in real for row in one.traffic]),
            "What a rank keeps:", "", _table(_MEMORY, [row for one in real for row in one.memory]),
            "What gloo sends per byte of the array, mean of the ranks, by the kernel's count of"
            " the TCP connections:", "",
            markdown_table(_WIRE, [row for one in real for row in one.wires]), "",
        ]  # fmt: skip
    if "fake" in found:
        lines += [
            f"With the fake backend, {_LARGE.depth} blocks of width {_LARGE.d}, at 16384 ranks and"
            f" with tensor parallelism of width {_SMALL.d}; bytes of a step:", "",
            _table(_TRAFFIC, found["fake"].traffic),
            "What a rank keeps:", "", _table(_MEMORY, found["fake"].memory),
        ]  # fmt: skip
    lines.append(f"{machine()}; {sum(one.seconds for one in found.values()):.0f} s.")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and write the tables if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed_check")
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART",
                        help="2 or 4 ranks of gloo, or fake; all of them by default")  # fmt: skip
    parser.add_argument("--only", default="", help="programs whose title has this")
    parser.add_argument("--keep", type=Path, metavar="FOLDER",
                        help="where parts are put, and taken from if they are there")  # fmt: skip
    parser.add_argument("--write", action="store_true", help="put the tables into docs/")
    args = parser.parse_args(arguments)
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if args.only and (args.keep or args.write):
        parser.error("--only is for looking at one program: nothing of it is kept or written")
    found = {
        part: kept(part, args.keep) if args.keep else find(part, args.only) for part in args.parts
    }
    text = tables(found)
    print(text)
    if args.write:
        write_between("distributed", text, PAGE)
    return int(not all(one.good for one in found.values()))


def _table(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    met = sum(line[-1] in ("equal", "within") for line in cells)
    kind = "within 1 %" if "error" in header else "equal"
    return f"{markdown_table(header, cells)}\n\n{met} of {len(cells)} {kind}.\n"


if __name__ == "__main__":
    sys.exit(main())
