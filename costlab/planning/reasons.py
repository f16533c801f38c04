"""Why a plan is as fast as it is, why others lost, and what would have been faster if it fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from costlab.i18n import _
from costlab.planning.search import Found
from costlab.units import format_percent, format_value

_WHY = {
    "arithmetic": _("the products themselves: {rate} of the peak rate is used"),
    "recurrence": _("each of {steps} steps waits for the one before and reads {read} of weights "
                    "of its layer again, shared by {micro} sequences"),
    "recompute": _("layers are computed again because their activations do not fit"),
    "tensor": _("every layer's results are summed over {tp} ranks, or keys passed on over {cp}"),
    "expert": _("tokens travel to the ranks of their experts and back"),
    "pipeline": _("activations travel between {pp} stages"),
    "bubble": _("{pp} stages wait for the pipeline to fill and drain around {passes} passes"),
    "data": _("gradients or weights of {dp} replicas travel for longer than backward hides"),
    "optimizer": _("the update reads and writes all states"),
}  # fmt: skip


def why(found: Found, index: int) -> str:
    """What limits a plan, with the numbers behind it."""
    plan, work = found.plans[index], found.work
    limiter, share = found.time.limiter(index)
    text = _WHY[limiter].format(
        rate=format_percent(found.mfu(index)), steps=work.length,
        read=format_value(int(work.step_bytes), "B"), micro=plan.micro, tp=plan.tp, cp=plan.cp,
        pp=plan.pp, dp=plan.dp, passes=plan.accumulation,
    )  # fmt: skip
    return _("{limiter}, {share} of the step: {text}").format(
        limiter=limiter, share=format_percent(share), text=text
    )


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a plan is slower than the best: the cause that grew most, and what it saved instead."""

    index: int
    slower: float
    cause: str
    seconds: float
    saved: str
    saved_s: float

    def text(self) -> str:
        """The reason in one line."""
        lost = _("{slower} slower: {seconds} more of {cause}").format(
            slower=format_percent(self.slower), seconds=format_value(self.seconds, "s"),
            cause=self.cause,
        )  # fmt: skip
        if self.saved_s <= 0:
            return lost
        return lost + _(", {seconds} less of {saved}").format(
            seconds=format_value(self.saved_s, "s"), saved=self.saved
        )


def loss(found: Found, index: int, best: int) -> Loss:
    """Why the plan at ``index`` lost to the one at ``best``."""
    mine, theirs = found.time.causes(index), found.time.causes(best)
    more = {name: mine[name] - theirs[name] for name in mine}
    cause, saved = max(more, key=lambda n: more[n]), min(more, key=lambda n: more[n])
    slower = float(found.time.total[index] / found.time.total[best]) - 1
    return Loss(index, slower, cause, more[cause], saved, -more[saved])


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The fastest plan that does not fit, where it would have been faster than the best.

    ``faster`` is the share of the best's time that it would save; ``over_bytes`` what is missing.
    """

    index: int
    faster: float
    need_bytes: float
    over_bytes: float
    binds: str

    def text(self, plan: str) -> str:
        """What it would take, in one line."""
        return _("{faster} faster if it fit: {plan} needs {need}, {over} too much, most of it "
                 "{binds}").format(
            faster=format_percent(self.faster), plan=plan, binds=self.binds,
            need=format_value(int(self.need_bytes), "B"),
            over=format_value(int(self.over_bytes), "B"),
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"faster": self.faster, "need_bytes": self.need_bytes,
                "over_bytes": self.over_bytes, "binds": self.binds}  # fmt: skip


def too_large(found: Found, capacity: float) -> TooLarge | None:
    """The plan that a little more memory would allow: the fastest beyond the capacity."""
    best = found.order[0]
    beyond = found.memory.total > capacity
    seconds = np.where(beyond, found.time.total, np.inf)
    index = int(np.argmin(seconds))
    if not seconds[index] < found.time.total[best]:
        return None
    kinds, need = found.memory.kinds(index), float(found.memory.total[index])
    return TooLarge(
        index, 1 - float(seconds[index] / found.time.total[best]), need, need - capacity,
        max(kinds, key=lambda name: kinds[name]),
    )  # fmt: skip
