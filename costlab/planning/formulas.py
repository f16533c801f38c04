"""Committed formulas by the name of a part: the planner's own parts, then the catalogue's.

Both are for CUDA's kernels in bfloat16. A sum over parts is the model, so nothing here types a
formula.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from costlab.algebra import Expr
from costlab.errors import InputError
from costlab.formulas import store
from costlab.formulas.record import Derivation
from costlab.i18n import _

BACKEND, DTYPE = "cuda", "bfloat16"


@cache
def derivation(entry: str, mode: str = "train", options: tuple[str, ...] = ()) -> Derivation:
    """The committed formulas of a part in one mode.

    Raises:
        UnknownNameError: if no part and no architecture has that name.
        InputError: if it has no formulas for that mode and these options.
    """
    flags = dict.fromkeys(options, True)
    folder = resources.files("costlab_profiles") / "parts" / entry
    if not folder.is_dir():
        return store.load(entry, mode, DTYPE, BACKEND, flags)
    file = folder / store.file_name(mode, BACKEND, DTYPE, flags)
    if not file.is_file():
        raise InputError(
            _("no formulas of {name} for this choice").format(name=entry),
            given=", ".join((mode, *options)),
            allowed=", ".join(sorted(f.name.removesuffix(".json") for f in folder.iterdir())),
        )
    return store.unpack(json.loads(file.read_text(encoding="utf-8")))


@cache
def expression(
    entry: str, quantity: str, mode: str = "train", options: tuple[str, ...] = ()
) -> Expr:
    """The formula of a quantity of a part; of the main class, which holds beyond size 1."""
    return derivation(entry, mode, options).expression(quantity)
