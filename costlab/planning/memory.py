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
from costlab.planning.model import Layer, ModelConfig, Part
from costlab.planning.precision import Precision
from costlab.planning.totals import DERIVED_BITS, parameters, value

Recompute = Literal["none", "selective", "full"]


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
) -> int:
    """Bytes that one layer keeps for backward on a rank, activations of 2 bytes.

    With ``recompute`` "full" that is the layer's input of ``width`` alone, with "selective" the
    core keeps its inputs and not what grows with the square of the length.
    """
    outside = ceil(n / tp) if sequence else n
    if recompute == "full":
        return b * outside * width * DERIVED_BITS // 8
    total = 0
    for item in parts:
        if not item.saves:
            continue
        share = divided(item, tp)
        length = outside if item.place in ("whole", "column") else n
        saved = value(share, "saved_bytes", "train", b, length)
        if recompute == "selective" and item.entry == "written_attention_core":
            # a n^2 + c n at n and at 2 n gives c n, the inputs.
            saved = (4 * saved - value(share, "saved_bytes", "train", b, 2 * length)) // 2
        total += saved
    return total


def passes_kept(pp: int, interleave: int = 1, accumulation: int = 0) -> Fraction:
    """Micro-batches that the first stage holds at once (Korthikanti et al. 2022, section 4.2.3).

    1F1B keeps one per stage; v interleaved stages keep ``p (1 + (p - 1) / (p v))``.
    ``accumulation`` 0 stands for as many micro-batches as it takes.
    """
    if interleave > 1:
        return pp * (1 + Fraction(pp - 1, pp * interleave))
    return Fraction(min(pp, accumulation) if accumulation else pp)


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


def rank_parameters(layers: Iterable[Layer], tp: int, *, ep: int = 1) -> int:
    """Parameters of one rank's tensor-parallel share of layers; experts go to ``ep`` ranks."""
    return sum(
        layer.count * share_of(parameters(divided(item, tp)), ep if item.expert else 1)
        for layer in layers
        for item in layer.parts
    )


def first_stage(
    model: ModelConfig,
    precision: Precision,
    b: int,
    n: int,
    *,
    dp: int = 1,
    tp: int = 1,
    pp: int = 1,
    zero: int = 0,
    sequence: bool = False,
    recompute: Recompute = "none",
    interleave: int = 1,
    ends: bool = True,
) -> RankMemory:
    """Memory of a rank of the first pipeline stage, the fullest, with micro-batches of ``b``.

    ``ends`` counts the embedding (and on a single stage the head). Layers are spread evenly.

    Raises:
        SizeError: if there are more stages than layers.
    """
    if not 1 <= pp * interleave <= model.depth:
        raise SizeError(
            _("more pipeline stages than layers"),
            given=f"pp={pp}, interleave={interleave}",
            allowed=_("at most {depth} together").format(depth=model.depth),
        )
    held = ceil(Fraction(rank_parameters(model.layers, tp), pp))
    if ends:
        outer = (*model.before, *(model.after if pp == 1 else ()))
        held += sum(parameters(divided(item, tp)) for item in outer)
    states = model_states(held, precision, dp=dp, zero=zero)
    saved = sum(
        layer.count
        * layer_saved(layer.parts, b, n, tp=tp, sequence=sequence, recompute=recompute,
                      width=model.width)
        for layer in model.layers
    )  # fmt: skip
    scale = precision.activations.bits_per_element / DERIVED_BITS
    return replace(states, activations=scale * saved * passes_kept(pp, interleave) / pp)
