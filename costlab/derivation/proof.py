"""Proves a class's formulas, where its program can be run once with symbolic sizes.

The fitted program was seen at a few sizes. The symbolic run is the program at all sizes for which
its guards hold. Where these follow from the class's own domain, and the run has the same
operators, dimensions and bytes alive at every operator, the formulas are proved: they rest on
torch's symbolic shapes instead of on samples. Four things still rest on real runs: which
operators write in place, whose layout a result takes, what a mask keeps, and sizes of 1, which
torch takes for numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.derivation.classes import ClassFound
    from costlab.derivation.work import SourceTracer
    from costlab.formulas.record import Condition


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether a class is proved; ``reason`` is why not, or what a proof leaves to real runs.

    ``conditions`` are demanded beyond the class's domain. Those of a proof only say that sizes
    are not 1; others are what the program was found to ask of them. ``within`` are upper bounds
    that a proof found, beyond which the program is another one: the domain takes them up.
    """

    proved: bool
    reason: str = ""
    conditions: tuple[str, ...] = ()
    within: tuple[Condition, ...] = ()

    def notes(self) -> tuple[str, ...]:
        """What a reader of the formulas should know of it."""
        if not self.proved:
            return (_("not proved: {reason}").format(reason=self.reason),)
        said = [self.reason] if self.reason else []
        if self.conditions:
            shown = ", ".join(self.conditions)
            said.append(
                _("proved where {conditions}, else checked by runs").format(conditions=shown)
            )
        return tuple(said)


def prove(tracer: SourceTracer, found: ClassFound) -> Proof:
    """Run a class's program once with symbolic sizes and compare it with the fitted one.

    Call within :func:`costlab.derivation.work.tracing` of the class's backend. Whatever the
    program does, nothing is raised, and what is changed for the run is changed back.

    Args:
        tracer: builds the source that the class was derived from.
        found: the class. One with a loop is not proved, for its passes are counted in numbers.
    """
    model = found.derived.model
    if found.derived.trip is not None:
        name = model.written(found.derived.trip)
        return Proof(False, _("passes of a loop are counted one by one ({name})").format(name=name))
    if model.counted:
        return Proof(False, _("a number of blocks is rounded up"))
    # Torch's symbolic shapes come with its compiler: two seconds that loops need not wait.
    from costlab.derivation.attempt import attempt

    reason = ""
    # Not all of torch's own operators take symbolic sizes. Its Python forms of them may be
    # other programs, but where they are the same one that is no matter.
    for python_dispatcher in (False, True):
        try:
            return attempt(tracer, found, python_dispatcher=python_dispatcher)
        except Exception as error:  # formulas that are not proved are formulas still
            reason = str(error)
    return Proof(False, reason)
