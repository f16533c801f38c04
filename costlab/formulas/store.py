"""Derivations as JSON: written once, read back without torch. The committed ones live in profiles.

``pack`` and ``unpack`` are exact inverses. :func:`load` finds the committed formulas of a
catalogued architecture; formulas of a user's module are never looked up here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from costlab.algebra import Expr, Size
from costlab.arch.spec import Claim
from costlab.errors import InputError, UnknownNameError
from costlab.formulas.record import Condition, CostClass, Derivation, Group, Quantity
from costlab.formulas.text import read
from costlab.graph import Moment
from costlab.i18n import _

SCHEMA = "costlab.formulas/1"


def file_name(mode: str, backend: str, dtype: str, options: Mapping[str, Any]) -> str:
    """Name of the file of one derivation: ``train-cpu-float32-causal.json``."""
    flags = [name for name, value in sorted(options.items()) if value]
    return "-".join((mode, backend, dtype, *flags)) + ".json"


def load(
    architecture: str,
    mode: str = "forward",
    dtype: str = "float32",
    backend: str = "cpu",
    options: Mapping[str, Any] | None = None,
) -> Derivation:
    """The committed formulas of a catalogued architecture.

    Raises:
        UnknownNameError: if no architecture has that name; carries the nearest.
        InputError: if it has no formulas for that mode, dtype, backend or option.
    """
    if architecture not in names():
        raise UnknownNameError(_("architecture"), architecture, names())
    wanted = file_name(mode, backend, dtype, options or {})
    folder = _folder() / architecture
    file = folder / wanted
    if not file.is_file():
        known = sorted(f.name.removesuffix(".json") for f in folder.iterdir())
        raise InputError(
            _("no formulas of {name} for this choice").format(name=architecture),
            given=wanted.removesuffix(".json"),
            allowed=", ".join(known),
        )
    return _read(file.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Architectures that have committed formulas."""
    folder = _folder()
    if not folder.is_dir():
        return ()
    return tuple(sorted(f.name for f in folder.iterdir() if f.is_dir()))


def available(architecture: str) -> tuple[str, ...]:
    """The choices (mode-backend-dtype) that have committed formulas."""
    return tuple(sorted(f.name.removesuffix(".json") for f in (_folder() / architecture).iterdir()))


def _folder() -> Traversable:
    return resources.files("costlab_profiles") / "formulas"


@lru_cache(maxsize=64)
def _read(text: str) -> Derivation:
    return unpack(json.loads(text))


def dump(derivation: Derivation) -> str:
    """The text of a committed file: one class, quantity, group or moment a line."""
    document = pack(derivation)
    head = {k: v for k, v in document.items() if k != "classes"}
    lines = ["{"]
    lines += [f" {json.dumps(k)}: {json.dumps(v)}," for k, v in head.items()]
    classes = ",\n".join(_class_text(c) for c in document["classes"])
    return "\n".join([*lines, f' "classes": [\n{classes}\n ]', "}"]) + "\n"


def _class_text(document: Mapping[str, Any]) -> str:
    rows: list[str] = []
    for key, value in document.items():
        if isinstance(value, dict):
            items = [f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()]
            rows.append(f"   {json.dumps(key)}: {{\n" + ",\n".join(items) + "\n   }")
        elif value and key != "domain":
            items = [f"    {json.dumps(v)}" for v in value]
            rows.append(f"   {json.dumps(key)}: [\n" + ",\n".join(items) + "\n   ]")
        else:
            rows.append(f"   {json.dumps(key)}: {json.dumps(value)}")
    return "  {\n" + ",\n".join(rows) + "\n  }"


def pack(derivation: Derivation) -> dict[str, Any]:
    """Plain data that JSON can hold; see :func:`unpack`."""
    return {
        "schema": SCHEMA,
        "architecture": derivation.architecture,
        "mode": derivation.mode,
        "dtype": derivation.dtype,
        "backend": derivation.backend,
        "options": dict(derivation.options),
        "derived": derivation.derived,
        "sizes": list(derivation.sizes),
        "defaults": dict(derivation.defaults),
        "auxiliary": {k: str(v) for k, v in derivation.auxiliary.items()},
        "symbols": dict(derivation.symbols),
        "rerolled": list(derivation.rerolled),
        "gaps": list(derivation.gaps),
        "notes": list(derivation.notes),
        "proof": list(derivation.proof),
        "claims": [
            [c.quantity, c.scope, c.order, c.source, list(c.variables), list(c.conditions), c.mode,
             *([c.differs] if c.differs else [])]
            for c in derivation.claims
        ],
        "classes": [_pack_class(c) for c in derivation.classes],
    }  # fmt: skip


def _pack_class(item: CostClass) -> dict[str, Any]:
    return {
        "domain": [[c.kind, c.left, c.right] for c in item.domain],
        "cost": {
            name: [_text(q.expr), _text(q.core), q.reason] for name, q in item.cost.items()
        },
        "groups": [
            [g.op, g.kind, g.phase, g.core, str(g.flop), str(g.bytes), str(g.calls),
             str(g.launches), [[str(s) for s in shape] for shape in g.shapes]]
            for g in item.groups
        ],
        "moments": [[m.label, {k: str(v) for k, v in m.live.items()}] for m in item.moments],
        "verified_at": [dict(at) for at in item.verified_at],
        "parts": [[m, op, {k: str(v) for k, v in row.items()}] for m, op, row in item.parts],
    }  # fmt: skip


def _text(expr: Expr | None) -> str | None:
    return None if expr is None else str(expr)


def unpack(document: Mapping[str, Any]) -> Derivation:
    """The derivation that :func:`pack` wrote.

    Raises:
        InputError: if the document has another schema.
    """
    if document.get("schema") != SCHEMA:
        raise InputError(
            _("not a file of formulas"), given=str(document.get("schema")), allowed=SCHEMA
        )
    reader = _Reader()
    return Derivation(
        architecture=document["architecture"],
        mode=document["mode"],
        dtype=document["dtype"],
        backend=document["backend"],
        derived=document["derived"],
        classes=tuple(reader.cost_class(c) for c in document["classes"]),
        symbols=document["symbols"],
        sizes=tuple(document["sizes"]),
        defaults=document["defaults"],
        auxiliary={k: reader.expr(v) for k, v in document["auxiliary"].items()},
        rerolled=tuple(document["rerolled"]),
        gaps=tuple(document["gaps"]),
        claims=tuple(
            Claim(q, scope, order, source, tuple(variables), tuple(conditions), mode, *differs)
            for q, scope, order, source, variables, conditions, mode, *differs in document["claims"]
        ),
        notes=tuple(document["notes"]),
        proof=tuple(document.get("proof", ())),
        options=document["options"],
    )


class _Reader:
    """Parses each distinct text of one document once."""

    def __init__(self) -> None:
        self._known: dict[str, Expr] = {}

    def expr(self, text: str) -> Expr:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = read(text)
        return found

    def quantity(self, expr: str | None, core: str | None, reason: str) -> Quantity:
        return Quantity(self._maybe(expr), self._maybe(core), reason)

    def _maybe(self, text: str | None) -> Expr | None:
        return None if text is None else self.expr(text)

    def _sizes(self, row: Mapping[str, str]) -> dict[str, Size]:
        return {k: self.expr(v) for k, v in row.items()}

    def cost_class(self, document: Mapping[str, Any]) -> CostClass:
        return CostClass(
            domain=tuple(Condition(kind, left, right) for kind, left, right in document["domain"]),
            cost=_Cost(document["cost"], self),
            groups=tuple(
                Group(op, kind, phase, core, self.expr(flop), self.expr(nbytes), self.expr(calls),
                      self.expr(launches),
                      tuple(tuple(self.expr(s) for s in shape) for shape in shapes))
                for op, kind, phase, core, flop, nbytes, calls, launches, shapes
                in document["groups"]
            ),
            moments=tuple(Moment(label, self._sizes(live)) for label, live in document["moments"]),
            verified_at=tuple(document["verified_at"]),
            parts=tuple((m, op, self._sizes(row)) for m, op, row in document["parts"]),
        )  # fmt: skip


class _Cost(Mapping[str, Quantity]):
    """Formulas of a class, each parsed when it is first looked at.

    They are most of a document, and of most classes none is ever wanted.
    """

    def __init__(self, texts: Mapping[str, tuple[str | None, str | None, str]], reader: _Reader):
        self._texts, self._reader = texts, reader
        self._known: dict[str, Quantity] = {}

    def __getitem__(self, name: str) -> Quantity:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._reader.quantity(*self._texts[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, name: object) -> bool:
        return name in self._texts
