"""Where a setting stands in a program's formulas: the class that holds, complete sizes, machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from costlab.errors import CostLabError
from costlab.formulas.record import CostClass, Derivation
from costlab.hardware.machine import Machine
from costlab.prediction.sizes import complete_sizes, select_class
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """A thing by identity: comparing formulas by value takes longer than what is looked up."""

    thing: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


@dataclass(frozen=True, slots=True)
class Place:
    """The formulas that hold at a setting.

    Attributes:
        target: the program.
        derivation: all its classes.
        index: which class holds; the main one where ``problem`` says why none does.
        sizes: complete sizes and the threads; empty where no class holds.
        machine: None where ``no_machine`` says why there is none.
    """

    target: str
    derivation: Derivation
    index: int
    sizes: Mapping[str, int]
    machine: Machine | None
    problem: str = ""
    no_machine: str = ""

    @property
    def cost_class(self) -> CostClass:
        return self.derivation.classes[self.index]


def locate(
    setting: Setting, workspace: Workspace, target: str, sizes: Mapping[str, int] | None = None
) -> Place:
    """The place of ``target`` at ``setting``, with some of its sizes replaced.

    Raises:
        CostLabError: if there are no formulas of the program at all.
    """
    derivation = workspace.derivation(target, setting)
    machine, no_machine = None, ""
    try:
        machine = workspace.machine(setting)
    except CostLabError as error:
        no_machine = str(error)
    given = {**setting.sizes, **(sizes or {})}
    own = {name: value for name, value in given.items() if name in derivation.sizes}
    try:
        full = complete_sizes(derivation, own)
        index = derivation.classes.index(select_class(derivation, full))
    except CostLabError as error:
        return Place(target, derivation, 0, {}, machine, str(error), no_machine)
    full["threads"] = setting.threads or (machine.threads if machine else 1)
    return Place(target, derivation, index, full, machine, "", no_machine)
