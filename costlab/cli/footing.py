"""What an answer over varying sizes rests on: the other sizes, the machine, its assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.formulas.record import Derivation
    from costlab.hardware.machine import Machine


def footing(
    programs: Sequence[Derivation],
    sizes: Mapping[str, int],
    over: Sequence[str],
    machine: Machine | None,
) -> dict[str, Any]:
    """The sizes of each program but those in ``over``, defaults included, and the machine."""
    held = {
        program.architecture: {
            name: {**program.defaults, **sizes}[name]
            for name in program.sizes
            if name not in over and name in {**program.defaults, **sizes}
        }
        for program in programs
    }
    if machine is None:
        return {"sizes": held, "device": None, "basis": None, "assumptions": []}
    return {
        "sizes": held,
        "device": machine.name,
        "basis": machine.basis,
        "assumptions": list(machine.assumptions),
    }


def footing_text(found: Mapping[str, Any]) -> str:
    """The same as text, a remark on each line."""
    sizes: Mapping[str, Mapping[str, int]] = found["sizes"]
    merged: dict[str, int] = {}
    for own in sizes.values():
        merged |= own
    if all(merged[name] == value for own in sizes.values() for name, value in own.items()):
        lines = [_join(merged)] if merged else []
    else:
        lines = [f"{name}: {_join(own)}" for name, own in sizes.items() if own]
    lines = [_("with {sizes}").format(sizes=line) for line in lines]
    if found["device"] is not None:
        text = _("time on {device}, {basis}")
        lines.append(text.format(device=found["device"], basis=found["basis"]))
    return "\n".join(f"- {line}" for line in (*lines, *found["assumptions"]))


def _join(sizes: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in sizes.items())
