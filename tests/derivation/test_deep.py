"""Deep modules are traced with a few layers; their formulas hold for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import costlab
from costlab.algebra import integer, total
from costlab.derivation.engine import Run, live_peak
from costlab.derivation.totals import COUNTED
from costlab.derivation.work import SourceTracer, tracing
from costlab.formulas.record import Derivation
from costlab.sources.resolve import resolve
from tests.derivation.programs import derived

EXAMPLES = Path(__file__).parents[2] / "examples"
CONFIGS = Path(__file__).parents[1] / "data" / "hf"


def _counted(target: str, mode: str, sizes: dict[str, int]) -> tuple[dict[str, int], int]:
    """Totals and peak of one real run."""
    tracer = SourceTracer(resolve(target), mode)
    with tracing("cpu"):
        run = Run.of(tracer(sizes), "cpu")
    counts = {
        name: integer(total(p.quantity(name) for p in run.priced))
        for name in COUNTED
        if name != "flop_useful"
    }
    return counts, int(live_peak(run))


def _check(derivation: Derivation, target: str, sizes: dict[str, int]) -> None:
    counts, peak = _counted(target, derivation.mode, sizes)
    found = derivation.evaluate(*counts, "peak_bytes", **sizes)

    assert found == {**counts, "peak_bytes": peak}


@pytest.mark.parametrize("mode", ["forward", "train"])
def test_96_equal_layers_in_the_code(mode: str) -> None:
    target = f"{EXAMPLES / 'stack.py'}:stack96"
    derivation = costlab.derive(target, mode=mode, prove=False)

    assert derivation.rerolled == ("_layers",)
    _check(derivation, target, {"b": 3, "n": 5, "d": 7})


def test_96_blocks_by_a_size() -> None:
    derivation = derived("arch transformer_block", "train")

    _check(derivation, "transformer_block", {"b": 2, "n": 5, "d": 6, "h": 3, "f": 11, "L": 96})


@pytest.mark.parametrize("layers", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("few", [{"b": 5, "n": 33}, {"b": 1, "n": 2}], ids=["some", "two"])
def test_few_wide_blocks(layers: int, few: dict[str, int]) -> None:
    """With few passes the peak is at a pass that longer runs do not peak at."""
    derivation = derived("arch transformer_block", "train")
    wide = {"d": 259, "h": 7, "f": 545}

    _check(derivation, "transformer_block", {**few, **wide, "L": layers})


@pytest.mark.parametrize("name", ["llama", "bert", "gpt2"])
def test_hugging_face_config(name: str) -> None:
    target = f"hf:{CONFIGS / name}.json"
    derivation = costlab.derive(target, prove=False)

    _check(derivation, target, {"b": 3, "n": 17, "L": 5})
    _check(derivation, target, {"b": 1, "n": 30, "L": 11})
