"""What the catalogue says about an architecture, apart from its code. No torch.

Each file ``costlab/arch/<name>.py`` defines ``SPEC`` (an :class:`ArchitectureSpec`), its modules
and the factories ``build`` (``forward`` and ``train``), ``build_prefill`` and ``build_decode``
where those modes exist. Factories take the sizes of ``SPEC.symbols`` as keyword integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Claim:
    """What a paper states: ``order`` in our symbols, for one quantity and scope.

    ``quantity`` is a cost quantity ("flop", "peak_bytes", "saved_bytes", "state_bytes", "steps");
    ``scope`` is "layer" or "core"; ``variables`` are the symbols the claim is about (empty: all).
    ``differs`` is one sentence that says why the derived order is another one (empty: it agrees).
    """

    quantity: str
    scope: str
    order: str
    source: str
    variables: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    mode: str = "forward"
    differs: str = ""


@dataclass(frozen=True, slots=True)
class ArchitectureSpec:
    """Name, sizes, modes, claims and limits of one catalogued architecture.

    ``symbols`` are the factory's keyword parameters in order; ``defaults`` the documented values
    of those that may be left out; ``constraints`` texts such as "h divides d", "w <= n",
    "w divides n" (only where the module itself demands it), or "c == 16" (the value that formulas
    are derived for, of a size that counts the passes of a loop beside another's). ``loops`` names
    the symbols that are trip counts of a Python or composite loop (n of a recurrence, L of a
    stack). ``ties`` gives, for a size that may be left out, its usual value in terms of the others
    ("f": "4*d").
    ``options`` are flags of ``build``, ``decode_options`` of ``build_decode``, default first.
    """

    name: str
    title: str
    kind: str  # "architecture", "block", "position", "technique", "model"
    family: str
    paper: str
    symbols: tuple[str, ...]
    defaults: Mapping[str, int]
    modes: tuple[str, ...]
    claims: tuple[Claim, ...]
    gives_up: str
    constraints: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    options: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)  # e.g. causal
    ties: Mapping[str, str] = field(default_factory=dict)
    decode_options: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)

    def flags(self, mode: str) -> Mapping[str, tuple[bool, ...]]:
        """The flags that the factory of ``mode`` takes, with their values."""
        if mode in ("forward", "train"):
            return self.options
        return self.decode_options if mode == "decode" else {}
