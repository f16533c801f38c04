"""Parts of the time model by hand: loops in Python, fresh memory, products that only move bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from costlab.algebra import as_expr
from costlab.formulas import store
from costlab.formulas.record import CostClass, Quantity
from costlab.prediction.timing import runs_fused, time_of
from tests.prediction.machines import FlatRates, flat_machine
from tests.prediction.programs import group, n

_COPY = group("aten.cat.default", "copy", 0, 8 * n, 1, (n,))


def test_a_loop_in_python_costs_its_passes() -> None:
    """Two products and a sum in each of n passes; too few passes are no loop."""
    product = group("aten.mm.default", "matmul", 0, 0, 2 * n)
    addition = group("aten.add.Tensor", "elementwise", 0, 0, n)
    program = CostClass((), {}, (product, addition), ())
    machine = replace(
        flat_machine(), launch_s={"forward": 1.0, "loop_forward": 0.5, "pass_forward": 100.0}
    )

    launch_s = time_of(program, {"n": np.array([4.0, 20.0])}, machine, "forward").launch_s

    assert launch_s == pytest.approx([4 * 3 * 1.0, 20 * 3 * 0.5 + 20 * 100.0])


@pytest.mark.parametrize(
    ("architecture", "mode", "fused"),
    [
        ("rnn", "forward", True),
        ("rnn", "train", True),
        ("gru", "forward", True),
        ("rnn_cell_loop", "forward", False),
        ("rnn_cell_loop", "train", False),
        ("transformer_block", "forward", False),
    ],
)
def test_recurrent_layers_in_cpp_have_no_passes_of_python(
    architecture: str, mode: str, fused: bool
) -> None:
    assert runs_fused(store.load(architecture, mode, "float32").classes[0].groups) is fused


def test_a_layer_in_cpp_costs_its_launches_and_products() -> None:
    product = group("aten.addmm.default", "matmul", 0, 0, n)
    gate = group("aten.tanh_.default", "elementwise", 0, 0, n)
    machine = replace(flat_machine(), launch_s={
        "forward": 1.0, "fused_forward": 0.25, "product_forward": 3.0, "pass_forward": 100.0,
    })  # fmt: skip

    times = time_of(CostClass((), {}, (product, gate), ()), {"n": 20}, machine, "forward")

    assert float(times.launch_s) == pytest.approx(20 * 2 * 0.25 + 20 * 3.0)


def test_a_product_takes_at_least_as_long_as_a_copy_of_its_operands() -> None:
    class Rates(FlatRates):
        def bytes_per_s(self, op: str, kind: str, size_bytes: object) -> float | None:
            return self.bandwidth if kind == "copy" else None

    machine = replace(flat_machine(), rates=Rates(flop=1e12, bandwidth=1e3))
    product = group("aten.mm.default", "matmul", 10**6, 5000, 1)

    times = time_of(CostClass((), {}, (product,), ()), {}, machine, "forward")

    assert float(times.total_s) == pytest.approx(5.0)
    assert times.limiter() == "memory"


def test_the_rows_of_a_result_cost_what_the_bytes_of_the_program_say() -> None:
    """A product of 90 results finds its memory in a cache, or not in a large program.

    Three such calls have a third of the program between two of them.
    """

    class Rates(FlatRates):
        def unaligned_elements(self, name: str, shape: tuple[object, ...]) -> float:
            assert name == "matmul"
            return 90.0

        def unaligned_s(self, level_bytes: float) -> float:
            return 1.0 if level_bytes > 5000 else 0.0

    machine = replace(flat_machine(), rates=Rates(flop=1e3, bandwidth=1e3))

    def time_s(peak_bytes: int, calls: int) -> float:
        product = group("aten.mm.default", "matmul", 1000, 100, calls)
        cost = {"peak_bytes": Quantity(as_expr(peak_bytes))}
        return float(time_of(CostClass((), cost, (product,), ()), {}, machine, "forward").total_s)

    assert time_s(4000, 1) == pytest.approx(1.0)
    assert time_s(9000, 1) == pytest.approx(1.0 + 90.0)
    assert time_s(9000, 3) == pytest.approx(3 * 1.0)
    assert time_s(18000, 3) == pytest.approx(3 * (1.0 + 90.0))
