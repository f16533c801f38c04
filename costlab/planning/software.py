"""What published runs say about training software: a few constants, each fitted and stated.

The constants lie in ``costlab_profiles/planning/software.toml`` with the rows they were fitted on
and the errors on rows they were not fitted on.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from costlab.errors import UnknownNameError
from costlab.i18n import _
from costlab.planning.communication import Links


@dataclass(frozen=True, slots=True)
class Software:
    """A training program's constants.

    Attributes:
        name, title: of the program.
        products: share of the matrix rate that large products reach.
        core: likewise attention's core where the scores are not stored.
        stored_scores: passes of memory over the n x n scores in forward; 0 where they are not
            stored (flash attention).
        elementwise: bytes of memory traffic per token and width of everything else in a layer,
            forward, over the 2 bytes of an element.
        launch_s: least time of one layer's forward on one rank, s: calls take that long to start.
        evenness: how alike a layer's kernels are: work and launches add as the ``evenness``-th
            root of the sum of their powers. Where all kernels are alike it is infinite, and the
            larger of the two counts; near 1 some wait for work and others for launches.
        grouped_rows: tokens of an expert at which its products reach half of the rate of large
            ones; 0 where nothing is known.
        loss: passes of memory over the logits, which are 32-bit numbers, in a step.
        links: what the links give in practice.
        gradient_exposed: share of the gradients' reduction that backward does not hide.
        weights_exposed: share of ZeRO-3's gathering that the arithmetic does not hide.
        pipeline_exposed: transfers between stages, as a multiple of one transfer each way.
        causal: whether attention skips the pairs that the mask drops.
        fitted: what the constants were fitted on.
        errors: mean and worst error on rows they were not fitted on.
    """

    name: str
    title: str
    products: float
    core: float
    stored_scores: float
    elementwise: float
    launch_s: float
    evenness: float
    grouped_rows: float
    loss: float
    links: Links
    gradient_exposed: float
    weights_exposed: float
    pipeline_exposed: float
    causal: bool
    fitted: str
    errors: str


@cache
def _all() -> dict[str, Software]:
    path = files("costlab_profiles") / "planning" / "software.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: Software(name=name, links=Links(**table.pop("links")), **table)
        for name, table in tables.items()
    }


def software_names() -> tuple[str, ...]:
    """Names of the programs whose constants are known."""
    return tuple(_all())


def software(name: str) -> Software:
    """The constants of a program.

    Raises:
        UnknownNameError: if there is none of that name.
    """
    if name not in _all():
        raise UnknownNameError(_("training software"), name, software_names())
    return _all()[name]
