"""Small hand-made derivations: attention core with projections, a recurrence, a block."""

from __future__ import annotations

from dataclasses import replace

from costlab.algebra import Expr, Size, as_expr, symbol
from costlab.formulas.record import (
    QUANTITIES,
    Condition,
    CostClass,
    Derivation,
    Group,
    Quantity,
)

b, n, d, h, w = (symbol(name) for name in "bndhw")


def group(
    op: str, kind: str, flop: Size, size: Size, calls: Size, *shapes: tuple[Size, ...]
) -> Group:
    return Group(
        op=op,
        kind=kind,
        phase="forward",
        core=kind != "matmul",
        flop=as_expr(flop),
        bytes=as_expr(size),
        calls=as_expr(calls),
        launches=as_expr(1),
        shapes=shapes,
    )


def derivation(
    name: str,
    groups: tuple[Group, ...],
    *,
    peak: Size,
    state: Size,
    steps: Size,
    sizes: tuple[str, ...] = ("b", "n", "d"),
    domain: tuple[Condition, ...] = (),
    **more: object,
) -> Derivation:
    zero = as_expr(0)
    flop = sum((g.calls * g.flop for g in groups), zero)
    cost = {
        "flop": flop,
        "flop_useful": flop,
        "flop_matmul": sum((g.calls * g.flop for g in groups if g.kind == "matmul"), zero),
        "bytes": sum((g.calls * g.bytes for g in groups), zero),
        "launches": sum((g.calls * g.launches for g in groups), zero),
        "peak_bytes": as_expr(peak),
        "state_bytes": as_expr(state),
        "steps": as_expr(steps),
    }
    return Derivation(
        architecture=name,
        mode="forward",
        dtype="float32",
        backend="cpu",
        derived="verified",
        classes=(
            CostClass(
                domain,
                {
                    name: Quantity(cost.get(name), reason="" if name in cost else "not modelled")
                    for name in QUANTITIES
                },
                groups,
                (),
            ),
        ),
        symbols=dict.fromkeys(sizes, ""),
        sizes=sizes,
        **more,  # type: ignore[arg-type]
    )


def renamed(program: Derivation, name: str, mode: str) -> Derivation:
    """The same formulas under another name and mode."""
    return replace(program, architecture=name, mode=mode)


def attention() -> Derivation:
    """Materialised attention, one head size d/h, four projections."""
    groups = (
        group("aten.mm", "matmul", 2 * b * n * d * d, 4 * (2 * b * n * d + d * d), 4,
              (b * n, d), (d, d)),
        group("aten.bmm", "matmul", 2 * b * n * n * d, 4 * b * (h * n * n + 2 * n * d), 2,
              (b * h, n, d / h), (b * h, d / h, n)),
        group("aten._softmax", "softmax", 5 * b * h * n * n, 8 * b * h * n * n, 1,
              (b * h, n, n)),
    )  # fmt: skip
    peak = 4 * (4 * d * d + 4 * b * n * d + 2 * b * h * n * n)
    return derivation(
        "attention", groups, peak=peak, state=8 * b * n * d, steps=6,
        sizes=("b", "n", "d", "h"), defaults={"h": 4},
    )  # fmt: skip


def recurrence() -> Derivation:
    """A plain RNN cell stepped n times: two matmuls and one element-wise call a step."""
    groups = (
        group("aten.addmm", "matmul", 2 * b * d * d, 4 * (2 * b * d + d * d), 2 * n,
              (d,), (b, d), (d, d)),
        group("aten.tanh", "elementwise", b * d, 8 * b * d, n, (b, d)),
    )  # fmt: skip
    return derivation(
        "recurrence", groups, peak=4 * (2 * d * d + b * n * d), state=4 * b * d, steps=2 * n
    )


def block() -> Derivation:
    """FLOP of a Transformer block with f = 4d: 24bnd² + 4bn²d, as one matmul class each."""
    groups = (
        group("aten.mm", "matmul", 24 * b * n * d * d, 0, 1),
        group("aten.bmm", "matmul", 4 * b * n * n * d, 0, 1),
    )
    return derivation("block", groups, peak=8 * b * n * d, state=0, steps=12)


def window() -> Derivation:
    """Window attention, only where w divides n and w <= n."""
    groups = (group("aten.bmm", "matmul", 6 * b * n * w * d, 12 * b * n * d, 2),)
    domain = (Condition("divides", "w", "n"), Condition("<=", "w", "n"))
    return derivation(
        "window", groups, peak=12 * b * n * w, state=8 * b * w * d, steps=4,
        sizes=("b", "n", "d", "w"), domain=domain,
    )  # fmt: skip


def one_term(name: str, flop: Expr) -> Derivation:
    """A single matmul class of ``flop`` without traffic or steps."""
    return derivation(name, (group("aten.mm", "matmul", flop, 0, 1),), peak=flop, state=0, steps=0)
