"""What one concrete run leaves behind: operators with integer shapes, storages with lifetimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from costlab.graph import Arg, TensorSpec

ALIVE = 1 << 60  # death point of a storage that outlives the run


@dataclass(slots=True)
class StorageRecord:
    """A block of memory: born while operator ``birth`` ran, gone before operator ``death`` ends.

    ``birth`` is -1 for what existed before the run. ``kind`` is "parameters", "inputs",
    "gradients", "saved", "temporary".
    """

    nbytes: int
    birth: int
    death: int = ALIVE
    kind: str = "temporary"
    saved: bool = False
    result: bool = False


@dataclass(slots=True)
class OpRecord:
    """One operator call of a concrete run.

    ``kept`` entries survive a mask in the matrix it makes (``pairs_at`` -1: its first output) or
    reads (``pairs_at`` i: its i-th tensor argument).
    """

    op: str
    args: dict[str, Arg]
    outs: tuple[TensorSpec, ...]
    module: str
    phase: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    new: tuple[bool, ...]
    sequence: int = -1
    kept: int | None = None
    pairs_at: int | None = None
    where: str = ""

    def token(self) -> tuple[object, ...]:
        """What must be equal for two calls to be the same step of the same program."""
        return (
            self.op,
            self.module,
            self.phase,
            tuple((o.dtype, new) for o, new in zip(self.outs, self.new, strict=True)),
            tuple(
                (name, value if isinstance(value, (str, bool)) or value is None else "")
                for name, value in self.args.items()
            ),
        )


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor that exists before the run: ``name`` is its path among its ``kind``."""

    kind: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    storage: int


@dataclass(slots=True)
class Trace:
    """A run at ``sizes``: its operators in order and every storage it touched.

    ``held`` lists parameters, inputs and state, each storage once; ``left`` is the state that a
    prefill or decode step returns.
    """

    sizes: Mapping[str, int]
    ops: list[OpRecord]
    storages: list[StorageRecord]
    held: tuple[Held, ...] = ()
    left: tuple[Held, ...] = ()
    forward_ops: int = 0

    def live_bytes(self) -> list[int]:
        """Bytes of tensor storage alive while each operator runs (kernel scratch not included)."""
        changes = [0] * (len(self.ops) + 2)
        for storage in self.storages:
            changes[max(storage.birth, 0)] += storage.nbytes
            if storage.death < len(self.ops):
                changes[max(storage.death, max(storage.birth, 0) + 1)] -= storage.nbytes
        live, total = [], 0
        for change in changes[: len(self.ops)]:
            total += change
            live.append(total)
        return live
