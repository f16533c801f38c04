"""Deep modules: what deriving 96 equal layers takes against 6, and whether the formulas hold."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clock import Took, shortest, timed
from costlab.formulas.record import Derivation

FEW, MANY = 6, 96
MODES = ("forward", "train")
COUNTS = ("flop", "flop_matmul", "bytes", "launches")
_ROOT = Path(__file__).resolve().parent.parent
_EXAMPLE = _ROOT / "examples" / "stack.py"
_CONFIG = _ROOT / "tests" / "data" / "hf" / "llama.json"
_FACTORY = """

def deep(*, b: int = 1, n: int = 128, d: int = 64):
    return Stack(d, {layers}), (torch.randn(b, n, d),)
"""


@dataclass(frozen=True, slots=True)
class Module:
    """A module with some number of layers: a target, and sizes kept at a number."""

    target: str
    fixed: Mapping[str, int] = field(default_factory=dict)

    def derive(self, mode: str, *, prove: bool = True) -> Derivation:
        """Its formulas."""
        import costlab

        return costlab.derive(self.target, mode=mode, sizes=self.fixed, prove=prove)


@dataclass(frozen=True, slots=True)
class Depth:
    """One module in one mode: times at 6 and at 96 layers, and where a count differs.

    The attempt to prove formulas, on 6 layers, costs both sides alike and hides how they differ:
    each module is timed with it (``proof``) and without.
    """

    title: str
    mode: str
    proof: bool
    few: Took
    many: Took
    miscounts: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """Processor time of 96 layers over that of 6."""
        return self.many.cpu_s / self.few.cpu_s


def block(_folder: Path, layers: int) -> Module:
    """Our own block, the number of its layers kept at a number."""
    return Module("transformer_block", {"L": layers})


def module_list(folder: Path, layers: int) -> Module:
    """A user's file: ``nn.ModuleList`` of equal layers, their number in the code."""
    path = folder / f"stack{layers}.py"
    text = _EXAMPLE.read_text(encoding="utf-8") + _FACTORY.format(layers=layers)
    path.write_text(text, encoding="utf-8")
    return Module(f"{path}:deep")


def llama(folder: Path, layers: int) -> Module:
    """A Llama config, the number of its layers as in the file."""
    return Module(llama_free(folder, layers).target, {"L": layers})


def llama_free(folder: Path, layers: int) -> Module:
    """A Llama config, the number of its layers a symbol."""
    path = folder / f"llama{layers}.json"
    values = {**json.loads(_CONFIG.read_text(encoding="utf-8")), "num_hidden_layers": layers}
    path.write_text(json.dumps(values), encoding="utf-8")
    return Module(f"hf:{path}")


CASES: Mapping[str, Callable[[Path, int], Module]] = {
    "`transformer_block`": block,
    "`ModuleList` in a user's file": module_list,
    "Llama config, layers as in the file": llama,
    "Llama config, layers a symbol": llama_free,
}


def depths(title: str, rounds: int, seed: int) -> list[Depth]:
    """Time one case of :data:`CASES` in turns, 6 layers then 96, and count 96 layers for real."""
    import costlab.derivation.work  # noqa: F401  (imports are no part of a derivation)

    found = []
    with TemporaryDirectory() as folder:
        few, many = (CASES[title](Path(folder), layers) for layers in (FEW, MANY))
        few.derive("forward")  # what a library sets up on first use is none either
        for mode, proof in itertools.product(MODES, (True, False)):
            times: list[tuple[Took, Took]] = []
            for _round in range(rounds):
                of_few, _formulas = timed(partial(few.derive, mode, prove=proof))
                of_many, formulas = timed(partial(many.derive, mode, prove=proof))
                times.append((of_few, of_many))
            found.append(
                Depth(
                    title,
                    mode,
                    proof,
                    shortest(a for a, _b in times),
                    shortest(b for _a, b in times),
                    tuple(miscounts(many, formulas, random.Random(seed))),
                )
            )
    return found


def miscounts(module: Module, formulas: Derivation, rng: random.Random) -> list[str]:
    """Where ``formulas`` differ from the count of one real run with all 96 layers; none is right.

    The run builds every layer of the module; nothing is cut and nothing re-rolled.
    """
    from costlab.algebra import total
    from costlab.derivation.classes import size_models
    from costlab.derivation.engine import Run, as_number, live_peak
    from costlab.derivation.work import SourceTracer, tracing
    from costlab.sources.resolve import resolve

    source = resolve(module.target)
    symbols = [s for s in source.symbols if s not in module.fixed]
    drawn = size_models(symbols, source.constraints, formulas.mode)[0].sample(rng, far=True)
    sizes = {name: drawn[name] for name in symbols} | ({"L": MANY} if "L" in symbols else {})
    with tracing("cpu"):
        tracer = SourceTracer(source, formulas.mode, fixed=module.fixed)
        run = Run.of(tracer(sizes), "cpu")
    counted = {name: as_number(total(p.quantity(name) for p in run.priced), {}) for name in COUNTS}
    counted["peak_bytes"] = live_peak(run)
    given = formulas.evaluate(*counted, **sizes)
    at = " ".join(f"{name}={value}" for name, value in sizes.items())
    return [
        f"{formulas.mode} at {at}: {name} {given[name]} where a run of {MANY} layers counts {count}"
        for name, count in counted.items()
        if given[name] != count
    ]
