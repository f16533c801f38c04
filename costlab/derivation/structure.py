"""Which outputs depend on which positions, from the real module by its gradients.

A batch of n copies of one sequence goes through the module once; the gradient that starts from
output i of copy i is zero at exactly the positions that output i does not read. The fewest
operators between two positions come from the gradient too: every operator of the backward pass
multiplies what passes it by a small number, so a chain of p operators leaves its p-th power, and
the shortest chain leads. Fused recurrences are taken apart for it.

``python -m costlab.derivation.structure`` writes the committed data; ``--only NAME`` some.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from costlab.arch import registry
from costlab.errors import CostLabError, ModuleError
from costlab.formulas.structure import Mask, Pattern, Structure, dump
from costlab.i18n import _
from costlab.sources.program import tensors_of

LENGTHS = (8, 12, 16, 24, 32, 48)
CHAIN_LENGTHS = (8, 12, 16, 24)
GRADIENT_LENGTH = 64
RADII = (0.9, 0.99, 1.1)
_SIZES = {
    "b": 1, "m": 6, "d": 8, "h": 2, "g": 1, "k": 4, "f": 8, "L": 1, "V": 16, "w": 4, "c": 4,
    "R": 2, "r": 2, "s": 4, "e": 4, "t": 2, "G": 2, "p": 4, "q": 4,
    "u": 4,
}  # fmt: skip
_SHRINK = (1e-3, 5e-4)


def sizes_at(name: str, n: int) -> dict[str, int]:
    """Small sizes of an entry at length ``n``."""
    spec = registry.spec(name)
    demanded = (text.split(" == ") for text in spec.constraints if " == " in text)
    sizes = {**_SIZES, "n": n, "E": 3 * n, **{symbol: int(value) for symbol, value in demanded}}
    return {symbol: sizes[symbol] for symbol in spec.symbols}


def mask_of(name: str, sizes: Mapping[str, int], options: Mapping[str, bool]) -> Mask:
    """``rows[i][j]``: whether output i of the entry's module depends on position j."""
    module, inputs = _built(name, sizes, options)
    n = sizes["n"]
    x = inputs[0].expand(n, *inputs[0].shape[1:]).clone().requires_grad_()
    rest = [value.expand(n, *value.shape[1:]) for value in inputs[1:]]
    y = next(tensors_of(module(x, *rest)))
    upstream = torch.zeros_like(y)
    upstream[range(n), range(n)] = torch.randn_like(y[0])
    (gradient,) = torch.autograd.grad(y, x, upstream)
    seen = gradient.abs().sum(-1) > 0
    return tuple(tuple(map(bool, row)) for row in seen.tolist())


def chain_of(name: str, sizes: Mapping[str, int], options: Mapping[str, bool]) -> int | None:
    """Fewest dependent operators to the last output, from the farthest position in operators.

    None where the module writes a gradient of its own: what it does inside is not seen.
    """
    module, inputs = _built(name, sizes, options)
    norms = []
    for factor in _SHRINK:
        x = inputs[0].clone().requires_grad_()
        # The backward pass too: a checkpointed part runs again there.
        with _taken_apart():
            y = next(tensors_of(module(x, *inputs[1:])))
            # Behind a norm the sum over channels does not hang on the inputs: weigh them.
            y.register_hook(lambda given: given * torch.linspace(1, 2, given.shape[-1]))  # type: ignore[no-untyped-call]
            end = y[:, -1].sum()
            nodes = _nodes(end.grad_fn)
            if any(isinstance(node, torch.autograd.function.BackwardCFunction) for node in nodes):
                return None
            for node in nodes:
                node.register_prehook(lambda given, by=factor: tuple(_scaled(g, by) for g in given))
            (gradient,) = torch.autograd.grad(end, x)
        norms.append(gradient.abs().sum(-1)[0])
    slopes = (norms[0] / norms[1]).log() / math.log(_SHRINK[0] / _SHRINK[1])
    counts = [round(float(slope)) for slope in slopes if not slope.isnan()]
    return max(counts)


def gradient_by_distance(module: nn.Module, x: Tensor) -> tuple[tuple[int, float], ...]:
    """(distance, norm of d y_last / d x_(last - distance) over its norm at distance 0)."""
    x = x.clone().requires_grad_()
    y = next(tensors_of(module(x)))[0, -1]
    rows = [torch.autograd.grad(value, x, retain_graph=True)[0][0] for value in y]
    norms = torch.stack(rows).pow(2).sum(dim=(0, 2)).sqrt().flip(0)
    shares = (norms / norms[0]).tolist()
    return tuple((at, float(f"{share:.4g}")) for at, share in enumerate(shares))


def with_radius(module: nn.RNN, radius: float) -> nn.RNN:
    """Set the recurrent matrix to a random one of which ``radius`` scales a rotation."""
    with torch.no_grad():
        _weight_in, weight, *biases = module.all_weights[0]
        turn, _upper = torch.linalg.qr(torch.randn_like(weight))
        weight.copy_(radius * turn)
        for bias in biases:
            bias.zero_()
    return module


def measure(name: str) -> tuple[Structure, ...]:
    """The structure of an entry for every choice of its options."""
    flags = registry.spec(name).options
    # Several chunks, so that what is carried from one to the next is seen.
    chunks = max(1, sizes_at(name, 8).get("c", 4) // 4)
    lengths = [n * chunks for n in CHAIN_LENGTHS]
    found = []
    for values in itertools.product(*flags.values()):
        options = dict(zip(flags, values, strict=True))
        at = [sizes_at(name, n) for n in LENGTHS]
        counted = [(n, chain_of(name, sizes_at(name, n), options)) for n in lengths]
        found.append(
            Structure(
                name,
                tuple(key for key, value in options.items() if value),
                tuple(Pattern(sizes, mask_of(name, sizes, options)) for sizes in at),
                tuple((n, chain) for n, chain in counted if chain is not None),
                _gradients(name, options),
            )
        )
    return tuple(found)


def _gradients(
    name: str, options: Mapping[str, bool]
) -> Mapping[str, tuple[tuple[int, float], ...]]:
    module, inputs = _built(name, sizes_at(name, GRADIENT_LENGTH), options)
    curves = {"as initialised": gradient_by_distance(module, inputs[0])}
    core = getattr(module, "core", None)
    if isinstance(core, nn.RNN) and type(core) is nn.RNN:
        for radius in RADII:
            with_radius(core, radius)
            # Small inputs keep tanh near its slope of 1, so that the matrix alone decides.
            curves[f"spectral radius {radius}"] = gradient_by_distance(module, 1e-6 * inputs[0])
    if isinstance(core, nn.LSTM):
        with torch.no_grad():
            core.all_weights[0][2][core.hidden_size : 2 * core.hidden_size] = 6.0
        curves["forget gates open"] = gradient_by_distance(module, inputs[0])
    return curves


def _built(
    name: str, sizes: Mapping[str, int], options: Mapping[str, bool]
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    torch.manual_seed(0)
    module, inputs = registry.load(name).build(**sizes, **options)
    if len(inputs) > 1:
        raise ModuleError(
            _("the positions of one input are followed"), given=f"{name}: {len(inputs)} inputs"
        )
    return module.double(), tuple(v.double() if v.is_floating_point() else v for v in inputs)


@contextmanager
def _taken_apart() -> Iterator[None]:
    """Recurrences and attention as the operators they are made of."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
        yield


def _nodes(root: object) -> list[Any]:
    found: dict[object, None] = {}
    front = [root]
    while front:
        node = front.pop()
        if node is not None and node not in found:
            found[node] = None
            front += [following for following, _index in node.next_functions]  # type: ignore[attr-defined]
    return list(found)


def _scaled(gradient: Tensor | None, factor: float) -> Tensor | None:
    return None if gradient is None else gradient * factor


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the committed structure of the entries that have positions to follow."""
    import costlab_profiles

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args(arguments)
    folder = Path(costlab_profiles.__path__[0]) / "structure"
    folder.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    bad = 0
    for name in args.only or registry.names():
        try:
            text = dump(measure(name))
        except (CostLabError, RuntimeError, IndexError, ValueError) as error:
            print(f"{name}: {type(error).__name__}: {error}")
            bad += not isinstance(error, ModuleError)
            continue
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{name} written, {len(text)} bytes")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
