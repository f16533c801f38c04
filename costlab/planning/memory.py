"""Memory of one rank in training, by kind: derived parts at divided sizes.

Tensor parallelism divides the sizes that a part names (heads, inner width, vocabulary); sequence
parallelism the positions of what is left whole. ZeRO divides states over the data-parallel ranks,
padded to equal shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, gcd
from typing import Literal

from costlab.errors import SizeError
from costlab.i18n import _
from costlab.planning.model import ModelConfig, Part, part
from costlab.planning.parallel import RECOMPUTE, Plan, Recompute
from costlab.planning.precision import Precision
from costlab.planning.stages import Stage, passes_begun, stage_of
from costlab.planning.tensors import Shape, elements, row_share, shapes, tensor_share
from costlab.planning.totals import DERIVED_BITS, value

Cut = Literal["flat", "rows", "tensors"]
"""How replicas divide states: one padded buffer (Megatron-LM, DeepSpeed), the rows of each tensor
(FSDP2), or whole tensors (``ZeroRedundancyOptimizer``)."""


def divided(item: Part, tp: int) -> Part:
    """The part of one of ``tp`` ranks; an uneven share is rounded up, a whole part is unchanged."""
    sizes, rows, left = item.size, item.rows, tp
    for place, name in enumerate(item.split):
        full = rows if name == "rows" else sizes[name]
        last = place == len(item.split) - 1
        by = left if last else gcd(full, left)
        share = max(ceil(full / by), item.least or 1)
        left //= by
        if name == "rows":
            rows = share
        else:
            sizes[name] = share
    return replace(item, sizes=tuple(sorted(sizes.items())), rows=rows)


def layer_saved(
    parts: Iterable[Part],
    b: int,
    n: int,
    *,
    tp: int = 1,
    sequence: bool = False,
    recompute: Recompute = "none",
    width: int = 0,
    regather: bool = True,
) -> int:
    """Bytes that one layer keeps for backward on a rank, activations of 2 bytes.

    With ``recompute`` "full" that is the layer's input of ``width`` alone, with "selective" the
    core keeps its inputs and not what grows with the square of the length, with "pointwise"
    products keep nothing, for norms and activation functions make their inputs again. With sequence
    parallelism the inputs of products are kept divided, unless ``regather`` is False.
    """
    outside = ceil(n / tp) if sequence else n
    if recompute == "full":
        return b * outside * width * DERIVED_BITS // 8
    total = 0
    for item in parts:
        if not item.saves or (recompute == "pointwise" and item.entry == "linear"):
            continue
        share = divided(item, tp)
        divided_too = item.place == "whole" or (regather and item.place == "column")
        length = outside if divided_too else n
        saved = value(share, "saved_bytes", "train", b, length)
        if recompute == "selective" and item.entry == "written_attention_core":
            # a n^2 + c n at n and at 2 n gives c n, the inputs.
            saved = (4 * saved - value(share, "saved_bytes", "train", b, 2 * length)) // 2
        total += saved
    return total


def share_of(number: int, ranks: int) -> int:
    """What one rank holds of a flat buffer that is padded to equal shares."""
    return -(-number // ranks)


@dataclass(frozen=True, slots=True)
class RankMemory:
    """Bytes of one rank by kind."""

    weights: Fraction
    gradients: Fraction
    optimizer: Fraction
    activations: Fraction

    @property
    def states(self) -> Fraction:
        """Weights, gradients and optimizer."""
        return self.weights + self.gradients + self.optimizer

    @property
    def total(self) -> Fraction:
        """All kinds together."""
        return self.states + self.activations


def model_states(number: int, precision: Precision, *, dp: int = 1, zero: int = 0) -> RankMemory:
    """Bytes of ``number`` parameters on a rank.

    ZeRO 1 divides the optimizer's states, 2 the gradients too, 3 all.

    Raises:
        SizeError: if there is no such stage, or no rank.
    """
    if zero not in (0, 1, 2, 3) or dp < 1:
        raise SizeError(
            _("no such division of states"), given=f"zero={zero}, dp={dp}",
            allowed=_("stage 0 to 3 on at least one rank"),
        )  # fmt: skip

    def held(stage: int) -> int:
        return share_of(number, dp) if zero >= stage else number

    return RankMemory(
        precision.weights.bytes(held(3)),
        precision.gradients.bytes(held(2)),
        precision.optimizer_bits * held(1) / 8,
        Fraction(0),
    )


def rank_memory(
    model: ModelConfig,
    plan: Plan,
    n: int,
    precision: Precision,
    *,
    rank: int = 0,
    cut: Cut = "flat",
    regather: bool = True,
) -> RankMemory:
    """Memory of a rank of pipeline stage ``rank`` in a step at sequences of ``n``.

    Stage 0 is the fullest under 1F1B. The last one also keeps the logarithms of the loss.

    Args:
        cut: how ZeRO divides states among the replicas.
        regather: whether sequence parallelism keeps the inputs of products divided.

    Raises:
        SizeError: if there are more pipeline stages than layers.
    """
    stage = stage_of(model, plan, rank)

    def held(level: int) -> int:
        return sum(_held(stage, plan, cut if plan.zero >= level else None, e) for e in (0, 1))

    return RankMemory(
        precision.weights.bytes(held(3)),
        precision.gradients.bytes(held(2)),
        precision.optimizer_bits * held(1) / 8,
        _activations(stage, plan, n, model.width, regather, rank)
        * precision.activations.bits_per_element
        / DERIVED_BITS,
    )


def rank_shapes(stage: Stage, plan: Plan, *, expert: bool) -> list[Shape]:
    """Parameters of a rank's tensor- and expert-parallel share of a stage."""
    parts = [item for layer in stage.layers for item in layer.parts * layer.count]
    found: list[Shape] = []
    for item in (*parts, *stage.ends):
        if item.expert == expert:
            each = shapes(divided(item, plan.tp))
            found += each[: ceil(len(each) / plan.ep)] if expert else each
    return found


def _held(stage: Stage, plan: Plan, cut: Cut | None, expert: int) -> int:
    tensors = rank_shapes(stage, plan, expert=bool(expert))
    ranks = plan.dp * plan.cp // (plan.ep if expert else 1)
    if cut == "rows":
        return row_share(tensors, ranks)
    if cut == "tensors":
        return tensor_share(tensors, ranks)
    return share_of(elements(tensors), ranks if cut else 1)


def _activations(
    stage: Stage, plan: Plan, n: int, width: int, regather: bool, rank: int
) -> Fraction:
    length = ceil(n / plan.cp)

    def saved(parts: Iterable[Part], recompute: Recompute) -> int:
        return layer_saved(
            parts, plan.micro, length, tp=plan.tp, sequence=bool(plan.sequence),
            recompute=recompute, width=width, regather=regather,
        )  # fmt: skip

    level = RECOMPUTE[plan.recompute]
    layers = sum(layer.count * saved(layer.parts, level) for layer in stage.layers)
    begun = passes_begun(plan, rank)
    losses = [
        part("cross_entropy", "loss", split=("V",), place="row", V=item.size["f"])
        for item in stage.after
        if item.name == "head"
    ]
    # The loss of a pass is followed by its backward at once, except under GPipe.
    last = saved((*stage.after, *losses), "none") * (begun if plan.gpipe else 1)
    return begun * (layers + saved(stage.before, "none")) + last
