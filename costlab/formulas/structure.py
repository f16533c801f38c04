"""Which output reads which position, as committed data: edges, paths and depth. No torch.

The data come from the real modules (``costlab/derivation/structure.py``) and lie in
``costlab_profiles/structure/<name>.json``; what follows from edges is computed here, on call.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from costlab.errors import InputError, UnknownNameError
from costlab.i18n import _

SCHEMA = "costlab.structure/1"
# Checked at every committed length, never assumed.
_LAWS: Mapping[str, Callable[[Mapping[str, int]], int]] = {
    "0": lambda sizes: 0,
    "1": lambda sizes: 1,
    "2": lambda sizes: 2,
    "ceiling((n - 1)/w)": lambda sizes: -(-(sizes["n"] - 1) // sizes.get("w", 1)),
    "ceiling((n - 1)/(w - 1))": lambda sizes: -(-(sizes["n"] - 1) // max(1, sizes.get("w", 1) - 1)),
}
Mask = tuple[tuple[bool, ...], ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """The edges of one layer at one length: ``rows[i][j]`` tells whether output i reads j."""

    sizes: Mapping[str, int]
    rows: Mask


@dataclass(frozen=True, slots=True)
class Structure:
    """What one entry's module was found to do with its positions.

    ``patterns`` are masks of growing length, the same other sizes. ``chains`` are (n, operators):
    the fewest dependent operators between the last output and the position farthest from it in
    operators. ``gradients`` are curves by label: (distance, norm of the gradient over that
    distance, as a share of the norm at distance 0).
    """

    name: str
    options: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    chains: tuple[tuple[int, int], ...]
    gradients: Mapping[str, tuple[tuple[int, float], ...]]

    @property
    def largest(self) -> Pattern:
        """The pattern of the greatest length."""
        return self.patterns[-1]

    @property
    def chain_order(self) -> str:
        """How the chain of operators within a layer grows: "1", "n", or "log(n, 2)" between.

        Empty where no chain was counted, in a module that writes its own gradient.
        """
        if not self.chains:
            return ""
        (_n, _chain), *early, (n, last) = self.chains
        if last <= max(chain for _at, chain in early):
            return "1"
        before_n, before = early[-1]
        rate = (early[-1][1] - early[0][1]) / (early[-1][0] - early[0][0])
        return "n" if last - before >= 0.8 * rate * (n - before_n) else "log(n, 2)"

    @property
    def path(self) -> str:
        """Longest of the shortest paths between positions: within a layer or over layers."""
        return self.layers_law if self.chain_order == "1" else self.chain_order

    @property
    def layers_law(self) -> str:
        """Layers until every pair that can be is connected, in sizes; "" where no law fits."""
        found = [(p.sizes, paths(p.rows).diameter) for p in self.patterns]
        for law, count in _LAWS.items():
            if all(layers == count(sizes) for sizes, layers in found):
                return law
        return ""


def edges(rows: Mask) -> int:
    """Pairs (output, position read), each output's own position included."""
    return sum(map(sum, rows))


def density(rows: Mask) -> float:
    """Edges over all ordered pairs."""
    return edges(rows) / len(rows) ** 2


def distances(rows: Mask) -> list[list[int | None]]:
    """Layers of this pattern until output i depends on position j; None: never.

    One search over the graph per output, an edge being one layer. An output reaches its own
    position over one layer where it reads it.
    """
    reads = [[j for j, seen in enumerate(row) if seen] for row in rows]
    return [_from(reads, i) for i in range(len(rows))]


def _from(reads: Sequence[Sequence[int]], start: int) -> list[int | None]:
    found: list[int | None] = [None] * len(reads)
    front, layer = [start], 0
    while front:
        layer += 1
        reached = [j for i in front for j in reads[i] if found[j] is None]
        front = list(dict.fromkeys(reached))
        for j in front:
            found[j] = layer
    return found


@dataclass(frozen=True, slots=True)
class Paths:
    """Of the pairs that layers can connect: how many layers at most and on average."""

    pairs: int
    diameter: int
    mean: float


def paths(rows: Mask) -> Paths:
    """Layers until each of the pairs that can be connected is; distinct positions only."""
    found = [
        layers
        for i, row in enumerate(distances(rows))
        for j, layers in enumerate(row)
        if layers is not None and i != j
    ]
    if not found:
        return Paths(0, 0, 0.0)
    return Paths(len(found), max(found), sum(found) / len(found))


def bridge(global_tokens: int, width: int) -> int:
    """Numbers that ``global_tokens`` of ``width`` can carry from layer to layer."""
    return global_tokens * width


def agreement(angle: float, bits: int) -> float:
    """Probability that one round of ``bits`` random signs joins two vectors ``angle`` apart.

    A random plane through the origin separates them with probability angle/pi (Charikar 2002).
    """
    return float((1 - angle / math.pi) ** bits)


def missed(agreement: float, rounds: int) -> float:
    """Probability that hashing misses a pair that one round joins with ``agreement``."""
    return float((1 - agreement) ** rounds)


@cache
def names() -> tuple[str, ...]:
    """Entries whose structure is committed."""
    folder = resources.files("costlab_profiles") / "structure"
    if not folder.is_dir():
        return ()
    return tuple(sorted(f.name.removesuffix(".json") for f in folder.iterdir()))


@cache
def load(name: str) -> tuple[Structure, ...]:
    """The committed structures of an entry, one per choice of its options.

    Raises:
        UnknownNameError: if there is none of that name.
        InputError: if the file has another schema.
    """
    if name not in names():
        raise UnknownNameError(_("structure"), name, names())
    file = resources.files("costlab_profiles") / "structure" / f"{name}.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    if document.get("schema") != SCHEMA:
        raise InputError(
            _("not a file of structure"), given=str(document.get("schema")), allowed=SCHEMA
        )
    return tuple(_unpack(name, entry) for entry in document["structures"])


def dump(found: Sequence[Structure]) -> str:
    """The text of an entry's file; :func:`load` reads it."""
    entries = [
        {
            "options": list(s.options),
            "patterns": [
                {"sizes": dict(p.sizes), "rows": [_packed(row) for row in p.rows]}
                for p in s.patterns
            ],
            "chains": s.chains,
            "gradients": {label: list(curve) for label, curve in s.gradients.items()},
        }
        for s in found
    ]
    lines = ",\n".join(f" {json.dumps(entry)}" for entry in entries)
    return f'{{"schema": {json.dumps(SCHEMA)}, "structures": [\n{lines}\n]}}\n'


def _packed(row: Sequence[bool]) -> str:
    return f"{int(''.join('01'[seen] for seen in row), 2):x}"


def _unpack(name: str, entry: Mapping[str, object]) -> Structure:
    data: dict[str, object] = dict(entry)
    patterns = []
    for pattern in _items(data["patterns"]):
        width = pattern["sizes"]["n"]
        rows = tuple(
            tuple(bit == "1" for bit in f"{int(row, 16):0{width}b}") for row in pattern["rows"]
        )
        patterns.append(Pattern(pattern["sizes"], rows))
    gradients = data["gradients"]
    assert isinstance(gradients, dict)
    return Structure(
        name,
        tuple(_items(data["options"])),
        tuple(patterns),
        tuple((n, chain) for n, chain in _items(data["chains"])),
        {label: tuple((at, share) for at, share in curve) for label, curve in gradients.items()},
    )


def _items(value: object) -> list[Any]:
    assert isinstance(value, list)
    return value
