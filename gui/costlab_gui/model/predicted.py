"""Predictions of one program at many sizes at once, for lists of points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from costlab.errors import SizeError
from costlab.i18n import _
from costlab.prediction.grid import curve
from costlab_gui.model.session import Setting
from costlab_gui.model.workspace import Workspace


def predicted(
    workspace: Workspace,
    setting: Setting,
    target: str,
    sizes: Sequence[Mapping[str, int]],
    metric: str,
) -> list[float | None]:
    """``metric`` ("time" in seconds, "memory" in bytes) at each of ``sizes``.

    Args:
        workspace: formulas and machines.
        setting: mode, dtype, device, threads and options; its sizes are not used.
        target: the program.
        sizes: all with the same symbols; those that the program lacks are passed over.
        metric: one of ``prediction.grid.METRICS``.

    Returns:
        A value for each; None where no formula holds.

    Raises:
        CostLabError: if there are no formulas, or no machine.
    """
    if not sizes:
        return []
    derivation = workspace.derivation(target, setting)
    machine = workspace.machine(setting) if metric == "time" else None
    names = [name for name in sizes[0] if name in derivation.sizes]
    if not names:
        raise SizeError(_("none of its sizes is given"), given=target)
    fixed: dict[str, Any] = {name: np.array([float(one[name]) for one in sizes]) for name in names}
    values = fixed.pop(names[0])
    fixed["threads"] = setting.threads or (machine.threads if machine is not None else 1)
    found = curve(derivation, names[0], values, fixed, metric, machine).value
    return [float(value) if math.isfinite(value) else None for value in found]
