"""A paper's claims beside the derived orders, as table rows."""

from __future__ import annotations

from costlab.formulas.document import claim_document
from costlab.formulas.record import Derivation
from costlab.formulas.text import parse
from costlab.i18n import _
from costlab.reporting.document import BAD, GOOD, QUIET, Cell, Entry, Order


def claim_rows(derivation: Derivation) -> tuple[tuple[Entry, ...], ...]:
    """(source, scope, claimed, derived, verdict) for each claim about the derivation's mode."""
    rows: list[tuple[Entry, ...]] = []
    for claim in derivation.claims:
        found = claim_document(derivation, claim)
        if found["agrees"] is None:
            continue
        verdict = Cell(_("agrees"), GOOD) if found["agrees"] else _differs(claim.differs)
        rows.append(
            (
                Cell(f"{claim.source} ({claim.quantity})", QUIET),
                claim.scope,
                Order(parse(claim.order)),
                Order(parse(found["derived_order"])),
                verdict,
            )
        )
    return tuple(rows)


def _differs(reason: str) -> Cell:
    return Cell(f"{_('differs')}: {reason}", QUIET) if reason else Cell(_("differs"), BAD)
