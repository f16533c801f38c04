"""torch's own count of a program's matrix FLOP, which is independent of the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from costlab.formulas.record import CostClass
    from costlab.sources.program import Program


def torch_flop(
    build: Callable[[], Program], mode: str, dtype: str, record: CostClass, sizes: Mapping[str, int]
) -> str:
    """What torch's FlopCounterMode says of the matrix FLOP of a program of class ``record``.

    On ``meta``, or where that takes another path, on the CPU with torch's own attention formulas.
    Triangular systems, for which torch has none, count as in textbooks: n**2 a right-hand side.
    """
    import torch

    from costlab.sources.program import prepare, run, upstream_gradients

    formula = record.cost["flop_matmul"].expr
    assert formula is not None
    expected = formula.evaluate(sizes)
    fused = mode == "train" and _has_fused_attention(record)
    device = "cpu" if fused else "meta"
    try:
        with torch.device(device):
            program = prepare(build(), mode, dtype)
            gradients = upstream_gradients(program) if mode == "train" else ()
            with _counter() as counter:
                run(program, mode, gradients)
    except (RuntimeError, NotImplementedError) as error:
        return f"no count on {device}: {str(error).splitlines()[0][:60]}"
    counted = counter.get_total_flops()
    if counted == expected:
        return "equal on meta" if device == "meta" else "equal with torch's attention formulas"
    return f"DIFFERS: torch counts {counted}, formula {expected} at {dict(sizes)}"


def _has_fused_attention(record: CostClass) -> bool:
    return any(g.kind == "attention" for g in record.groups)


def _counter() -> Any:
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

    def solve(matrix: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
        return int(math.prod(out_shape) * matrix[-1])

    return FlopCounterMode(
        display=False,
        custom_mapping={
            # torch multiplies the gradient of the weight by the number of groups.
            ops.convolution_backward: convolution,
            ops.linalg_solve_triangular: solve,
            ops._scaled_dot_product_flash_attention_for_cpu: forward,
            ops._scaled_dot_product_flash_attention_for_cpu_backward: backward,
        },
    )
