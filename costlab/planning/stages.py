"""What a rank of a pipeline holds, and how many passes it has begun and not finished."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from costlab.errors import SizeError
from costlab.i18n import _
from costlab.planning.model import Layer, ModelConfig, Part
from costlab.planning.parallel import Plan


@dataclass(frozen=True, slots=True)
class Stage:
    """Layers of a rank of the pipeline, and the model's ends where they are its."""

    layers: tuple[Layer, ...]
    before: tuple[Part, ...] = ()
    after: tuple[Part, ...] = ()

    @property
    def ends(self) -> tuple[Part, ...]:
        """What is no layer."""
        return (*self.before, *self.after)


def stage_of(model: ModelConfig, plan: Plan, rank: int = 0) -> Stage:
    """The share of pipeline rank ``rank``: ``plan.interleave`` chunks of the layers, pp apart.

    Layers that cannot be spread evenly leave one more to each of the first chunks.

    Raises:
        SizeError: if there are more chunks than layers, or there is no such rank.
    """
    chunks = plan.pp * plan.interleave
    if not 1 <= chunks <= model.depth:
        raise SizeError(
            _("more pipeline stages than layers"),
            given=f"pp={plan.pp}, interleave={plan.interleave}",
            allowed=_("at most {depth} together").format(depth=model.depth),
        )
    if not 0 <= rank < plan.pp:
        raise SizeError(
            _("no such rank of the pipeline"), given=str(rank), allowed=f"0 to {plan.pp - 1}"
        )
    row = [layer for layer in model.layers for _i in range(layer.count)]
    each, more = divmod(len(row), chunks)
    held: list[Layer] = []
    for chunk in range(rank, chunks, plan.pp):
        first = chunk * each + min(chunk, more)
        held += row[first : first + each + (chunk < more)]
    return Stage(
        tuple(
            Layer(layer.name, layer.parts, len(list(same)), layer.stream)
            for layer, same in groupby(held)
        ),
        model.before if rank == 0 else (),
        model.after if rank == plan.pp - 1 else (),
    )


def passes_begun(plan: Plan, rank: int = 0) -> Fraction:
    """Micro-batches whose activations rank ``rank`` holds at once, each through all its layers.

    GPipe holds all of a step. 1F1B holds one per stage from this one on; with v interleaved
    chunks a rank warms up with ``(v - 1) p + 2 (p - 1 - rank)`` chunks (Narayanan et al. 2021,
    section 2.2; at rank 0 that is Korthikanti et al. 2022, section 4.2.3).
    """
    if plan.gpipe or plan.pp == 1:
        return Fraction(plan.accumulation if plan.gpipe else 1)
    if plan.interleave == 1:
        return Fraction(min(plan.pp - rank, plan.accumulation))
    warm = (plan.interleave - 1) * plan.pp + 2 * (plan.pp - 1 - rank) + 1
    return Fraction(min(warm, plan.accumulation * plan.interleave), plan.interleave)
