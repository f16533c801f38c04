"""The documented examples build and run in the modes they are written for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from costlab.sources import resolve
from costlab.sources.layers import layer_count
from costlab.sources.program import prepare, run, tensors_of, upstream_gradients

EXAMPLES = Path(__file__).parents[2] / "examples"
SIZES = {"b": 2, "n": 9, "d": 16, "h": 4, "g": 2, "f": 24, "L": 3}


def factories() -> list[str]:
    """Every public top-level function of the examples."""
    return [
        f"{path.name}:{item.name}"
        for path in sorted(EXAMPLES.glob("*.py"))
        for item in ast.parse(path.read_text()).body
        if isinstance(item, ast.FunctionDef)
    ]


@pytest.mark.parametrize("target", factories())
def test_example_runs_and_documents_its_command(target: str) -> None:
    source = resolve(f"{EXAMPLES}/{target}")
    sizes = {name: SIZES[name] for name in source.symbols}
    mode = "decode" if target.startswith("decode") else "train"
    program = prepare(source.program(mode, sizes), mode)
    gradients = upstream_gradients(program) if mode == "train" else ()
    outputs = list(tensors_of(run(program, mode, gradients)))
    assert outputs[0].shape == program.inputs[0].shape
    if mode == "train":
        assert all(x.grad is not None for x in program.inputs)
    assert source.file is not None
    assert f"examples/{target}" in (ast.get_docstring(ast.parse(source.file.read_text())) or "")


def test_the_stack_of_96_is_found() -> None:
    module = resolve(f"{EXAMPLES}/stack.py:stack96").program("forward", {"d": 8}).module
    assert module is not None
    assert layer_count(module) == 96
