"""Orders of the catalogue beside the committed formulas, so that a list need not read them all.

The index is written with the formulas (``costlab.derivation.regenerate``) and holds what
``Derivation.order`` gives for the arithmetic of a plain forward pass, per architecture and scope.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from costlab.errors import InputError
from costlab.formulas import store
from costlab.i18n import _

SCHEMA = "costlab.formulas.index/1"
FILE = "index.json"
SCOPES = ("core", "layer")


def orders(architecture: str) -> Mapping[str, str]:
    """Order of the FLOP of an architecture's forward pass, by scope, as text.

    A scope without a closed form is left out; without an index nothing is known.
    """
    return _read().get(architecture, {})


@lru_cache(maxsize=1)
def _read() -> Mapping[str, Mapping[str, str]]:
    file = resources.files("costlab_profiles") / "formulas" / FILE
    if not file.is_file():
        return {}
    document = json.loads(file.read_text(encoding="utf-8"))
    if document.get("schema") != SCHEMA:
        raise InputError(
            _("not an index of formulas"), given=str(document.get("schema")), allowed=SCHEMA
        )
    found: Mapping[str, Mapping[str, str]] = document["orders"]
    return found


def text() -> str:
    """The text of the index that fits the committed formulas, one architecture a line."""
    rows = [f"  {json.dumps(name)}: {json.dumps(_orders(name))}" for name in store.names()]
    return "\n".join(
        ["{", f' "schema": {json.dumps(SCHEMA)},', ' "orders": {', ",\n".join(rows), " }", "}", ""]
    )


def _orders(architecture: str) -> dict[str, str]:
    derivation = store.load(architecture)
    found = {}
    for scope in SCOPES:
        try:
            found[scope] = str(derivation.order("flop", scope))
        except InputError:
            continue
    return found
