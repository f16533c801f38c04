"""Memory of a rank under many plans at once, by kind, against the device's capacity.

The fullest rank is the first pipeline stage: it keeps activations of p passes (1F1B), of
``p (1 + (p - 1) / (p v))`` with v interleaved stages (Korthikanti et al. 2022, section 4.2.3), of
all passes under GPipe. What ZeRO-3 divides is padded as FSDP2 pads it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from costlab.planning.padding import Padding, padding
from costlab.planning.parallel import Column, Plans
from costlab.planning.precision import Precision, precision
from costlab.planning.step_time import rank_parameters
from costlab.planning.workload import Workload

_RESERVE = 1.5 * 2**30  # context, library and allocator


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of the fullest rank by kind, one column entry per plan."""

    weights: Column
    gradients: Column
    optimizer: Column
    activations: Column
    buffers: Column
    reserve: Column

    @property
    def total(self) -> Column:
        """All kinds together."""
        parts = (self.weights, self.gradients, self.optimizer, self.activations, self.buffers)
        return sum(parts, self.reserve)

    def kinds(self, index: int) -> dict[str, float]:
        """Bytes by kind of one plan."""
        names = ("weights", "gradients", "optimizer", "activations", "buffers", "reserve")
        return {name: float(getattr(self, name)[index]) for name in names}


def budget(
    work: Workload,
    plans: Plans,
    formats: Precision | None = None,
    *,
    stored_scores: bool = False,
    padded: Padding | None = None,
    offload: bool = False,
) -> Budget:
    """Bytes of the fullest rank under each plan.

    Args:
        formats: of weights, gradients and optimizer; by default "mixed".
        stored_scores: whether attention keeps its n x n scores (no flash attention).
        padded: what :func:`~costlab.planning.padding.padding` gives, where it is known.
        offload: whether gradients and optimizer lie in the host's memory.
    """
    p = plans
    kinds = formats or precision("mixed")
    weight = float(kinds.weights.bits_per_element) / 8
    dense, expert = rank_parameters(work, p)
    whole, experts = padded or padding(work, p)
    held = dense * whole + expert * experts
    replicas = p.dp * p.cp

    def shared(stage: int) -> Column:
        over = np.where(p.zero >= stage, replicas, 1.0)
        over_experts = np.where(p.zero >= stage, replicas / p.ep, 1.0)
        return dense * whole / over + expert * experts / over_experts

    level = p.recompute.astype(int)
    saved = np.array(work.saved_bytes)[level]
    undivided = np.array(work.whole_saved_bytes)[level]
    copied = np.array(work.copied_saved_bytes)[level]
    whole_share = np.where(p.sequence > 0, 1 / p.tp, 1.0)
    layer = undivided * whole_share + copied + (saved - undivided - copied) / p.tp
    if stored_scores:
        layer = layer + np.where(level == 0, work.score_bytes / p.tp, 0.0)
    deep = np.where(
        p.interleave > 1, p.pp + (p.pp - 1) / p.interleave, np.minimum(p.pp, p.accumulation)
    )
    passes = np.where(p.gpipe > 0, p.accumulation, deep)
    layers = np.ceil(work.layers / p.pp)
    per_pass = p.micro / p.cp
    activations = layers * layer * per_pass * np.where(p.pp > 1, passes, 1.0)
    # What one layer being computed again, and the loss, hold for a moment.
    full = np.array(work.saved_bytes)[0] - np.array(work.whole_saved_bytes)[0]
    moment = np.where(level == 2, per_pass * (work.whole_saved_bytes[0] * whole_share
                                              + full / p.tp), 0.0)  # fmt: skip
    logits = np.where(p.pp > 1, 0.0, per_pass * work.logit_bytes / p.tp)
    gathered = np.where(p.zero >= 3, 2 * weight * held / np.ceil(work.layers / p.pp), 0.0)
    here = 0.0 if offload else 1.0
    return Budget(
        weights=weight * shared(3),
        gradients=here * float(kinds.gradients.bits_per_element) / 8 * shared(2),
        optimizer=here * float(kinds.optimizer_bits) / 8 * shared(1),
        activations=activations,
        buffers=np.maximum(moment, logits) + gathered,
        reserve=np.full_like(p.tp, _RESERVE),
    )
