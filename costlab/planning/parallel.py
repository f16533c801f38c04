"""How a training step is divided over ranks: one plan, and many plans as columns.

Ranks are numbered with tensor parallelism innermost, then context, then data, then pipeline, as
Megatron-LM does: neighbours in a tensor-parallel group share a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from costlab.i18n import _

Column = NDArray[np.float64]

Recompute = Literal["none", "selective", "full", "pointwise"]
RECOMPUTE: tuple[Recompute, ...] = ("none", "selective", "full", "pointwise")
"""What is computed again in backward: nothing, what attention's core saves, every layer, or norms
and activation functions (Yuan et al. 2024, USENIX ATC), which keep their inputs alone."""

_EMPTY = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to divide a step.

    Attributes:
        dp: replicas that see different sequences; experts are spread over them.
        tp: ranks that share each matrix product.
        pp: pipeline stages.
        cp: ranks that share each sequence.
        ep: ranks that share the experts; divides dp x cp.
        zero: what dp ranks share: 0 nothing, 1 optimizer, 2 gradients too, 3 weights too (FSDP).
        micro: sequences of one pass of a replica.
        accumulation: passes per step; the global batch is dp x micro x accumulation.
        interleave: stages of the model per rank of the pipeline (v); 1 is plain 1F1B.
        recompute: index into :data:`RECOMPUTE`.
        sequence: 1 if what tensor parallelism leaves whole is split along the sequence.
        gpipe: 1 if all forward passes come before all backward passes.
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    zero: int = 1
    micro: int = 1
    accumulation: int = 1
    interleave: int = 1
    recompute: int = 0
    sequence: int = 1
    gpipe: int = 0

    @property
    def devices(self) -> int:
        """Ranks of the plan."""
        return self.dp * self.tp * self.pp * self.cp

    @property
    def batch(self) -> int:
        """Sequences of a step."""
        return self.dp * self.micro * self.accumulation

    def text(self) -> str:
        """The plan in one line: what is 1 is left out."""
        words = [
            f"{name} {getattr(self, name)}"
            for name in ("dp", "tp", "pp", "cp", "ep")
            if getattr(self, name) > _EMPTY
        ]
        words += [f"ZeRO-{self.zero}"] if self.dp * self.cp > 1 and self.zero else []
        words += [f"v {self.interleave}"] if self.interleave > 1 else []
        words += [f"micro-batch {self.micro} x {self.accumulation}"]
        words += [_("recompute {what}").format(what=RECOMPUTE[self.recompute])]
        return ", ".join(words)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        return data | {
            "recompute": RECOMPUTE[self.recompute],
            "sequence": bool(self.sequence),
            "gpipe": bool(self.gpipe),
            "devices": self.devices,
            "batch": self.batch,
        }


@dataclass(frozen=True, slots=True)
class Plans:
    """Many plans: the fields of :class:`Plan` as columns of one length."""

    dp: Column
    tp: Column
    pp: Column
    cp: Column
    ep: Column
    zero: Column
    micro: Column
    accumulation: Column
    interleave: Column
    recompute: Column
    sequence: Column
    gpipe: Column

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> Plans:
        """The columns of ``plans``."""
        return cls(**{
            field.name: np.array([getattr(plan, field.name) for plan in plans], dtype=float)
            for field in fields(Plan)
        })  # fmt: skip

    def __len__(self) -> int:
        return len(self.dp)

    def __getitem__(self, index: int) -> Plan:
        return Plan(**{f.name: int(getattr(self, f.name)[index]) for f in fields(Plan)})

    def where(self, chosen: NDArray[Any]) -> Plans:
        """The plans of a mask or of indices."""
        return Plans(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    @property
    def devices(self) -> Column:
        """Ranks of each plan."""
        return self.dp * self.tp * self.pp * self.cp

    @property
    def batch(self) -> Column:
        """Sequences of a step of each plan."""
        return self.dp * self.micro * self.accumulation
