"""The bench reports speed and never fails for it, but does for a wrong answer."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks import bench, catalogue, deep, evaluation
from benchmarks.bench import Figure
from benchmarks.clock import Took, command, shortest
from costlab.algebra import Expr, symbol
from costlab.formulas.compiled import compile_expr
from costlab.formulas.record import CostClass, Derivation, Quantity


def test_the_shortest_of_several_is_taken_of_each_clock() -> None:
    assert shortest([Took(3, 1), Took(2, 2)]) == Took(2, 1)


def test_a_command_is_timed_with_its_children() -> None:
    spin = "import time\nwhile time.process_time() < 0.2: pass"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"

    took, output = command([sys.executable, "-c", child + "; print('done')"])

    assert output == "done\n"
    assert took.cpu_s >= 0.2


@pytest.mark.parametrize(("wall_s", "verdict"), [(0.2, "met"), (0.4, "missed")])
def test_a_time_is_judged_by_the_wall(wall_s: float, verdict: str) -> None:
    assert Figure.seconds("start", 0.3, Took(wall_s, 0.01)).row()[-1] == verdict


@pytest.mark.parametrize(("wrong", "status"), [((), 0), (("bytes 3 where it is 4",), 1)])
def test_only_a_wrong_answer_fails(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    wrong: tuple[str, ...],
    status: int,
) -> None:
    def slow_part(_rounds: int) -> Iterator[Figure]:
        yield Figure("a layer", "< 5 s", "9 s", "8 s", False, wrong)

    monkeypatch.setattr(bench, "PARTS", {"layer": slow_part})
    monkeypatch.setattr(bench, "stretch", lambda: 1.0)

    assert bench.main(["--only", "layer"]) == status
    printed = capsys.readouterr().out
    assert ("WRONG" if wrong else "missed") in printed
    assert all(line in printed for line in wrong)


def test_start_up_that_loads_torch_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_STARTS", {"heavy": "import numpy"})
    monkeypatch.setattr(bench, "_STARTS_EACH", 1)

    (figure,) = bench.start(1)

    assert figure.wrong == ("heavy loads numpy",)


def test_the_list_has_each_architecture_in_each_of_its_modes() -> None:
    found = catalogue.programs()

    assert ("full_attention", "decode") in found
    assert ("transformer_block", "decode") not in found
    assert set(catalogue.programs(["train"])) <= set(found)
    assert {mode for _name, mode in catalogue.programs(["train"])} == {"train"}


def test_a_formula_that_miscounts_is_named(tmp_path: Path) -> None:
    """A stack of two layers, with formulas of another number of layers."""
    module = deep.module_list(tmp_path, 2)
    formulas = module.derive("forward")
    other = deep.module_list(tmp_path, 3)

    assert deep.miscounts(module, formulas, random.Random(1)) == []
    (first, *_rest) = deep.miscounts(other, formulas, random.Random(1))
    assert first.startswith("forward at b=")


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_points_are_compared_with_exact_values(
    monkeypatch: pytest.MonkeyPatch, wrong: bool
) -> None:
    n, d = symbol("n"), symbol("d")
    time = 4 * n**2 * d / symbol("P_matmul") + n * d / symbol("W")
    cost_class = CostClass((), {"time": Quantity(time)}, (), ())
    program = Derivation(
        "one", "train", "float32", "cpu", "verified", (cost_class,), {}, ("n", "d")
    )
    monkeypatch.setattr(evaluation, "POINTS", 1000)
    monkeypatch.setattr(evaluation, "program", lambda *_choice: program)
    if wrong:
        monkeypatch.setattr(evaluation, "compile_expr", _off_by_a_millionth)

    found = evaluation.million_points(1)

    assert [bool(timing.wrong) for timing in found] == [wrong, wrong, False]
    assert found[0].what.endswith("at 1 000 points of n")


def _off_by_a_millionth(expr: Expr, names: list[str]) -> Callable[..., object]:
    return compile_expr(expr * Fraction(1_000_001, 1_000_000), names)
