"""A sweep as a TOML file, for ``costlab profile SWEEP.toml``.

targets = ["full_attention", "lstm"]
modes = ["forward", "train"]      # default: forward
dtypes = ["float32"]              # default: float32
device = "cpu"                    # and threads, repeats, budget as on the command line
[sizes]
n = "256:4k:x2"
d = 256
[options]
causal = true
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.cli.common import parsed
from costlab.errors import InputError
from costlab.i18n import _
from costlab.symbols import parse_values
from costlab.units import parse_seconds

if TYPE_CHECKING:
    from costlab.sweep.plan import SweepPlan

_KEYS = {
    "targets": list,
    "modes": list,
    "dtypes": list,
    "device": str,
    "threads": int,
    "repeats": int,
    "budget": str,
    "sizes": dict,
    "options": dict,
}


def load_sweep(path: Path) -> SweepPlan:
    """The plan written in ``path``.

    Raises:
        InputError: if the file cannot be read, or has a key or value that means nothing.
    """
    from costlab.cli.points import points_of
    from costlab.sweep.plan import SweepPlan

    data = _read(path)
    sizes = {name: parse_values(str(text), name) for name, text in data.get("sizes", {}).items()}
    points = points_of(
        data["targets"],
        sizes,
        modes=data.get("modes", ["forward"]),
        dtypes=data.get("dtypes", ["float32"]),
        device=data.get("device", "cpu"),
        threads=data.get("threads", 1),
        options=data.get("options"),
    )
    budget_s = parsed(parse_seconds, "budget", data["budget"]) if "budget" in data else None
    seed = random.SystemRandom().randrange(2**31)
    return SweepPlan(points, seed, repeats=data.get("repeats", 3), budget_s=budget_s)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(_("cannot read the sweep"), given=f"{path}: {error}") from error
    for key, value in data.items():
        if key not in _KEYS or type(value) is not _KEYS[key]:
            raise InputError(
                _("not a key of a sweep, or a value of another type"),
                given=f"{path}: {key} = {value!r}",
                allowed=", ".join(f"{name} ({kind.__name__})" for name, kind in _KEYS.items()),
            )
    if not data.get("targets"):
        raise InputError(_("the sweep names no targets"), given=str(path))
    return data
