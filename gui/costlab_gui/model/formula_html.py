"""What is known of a formula, as rich text: order, claims, domain, derivation, other classes.

Colours come in as "#rrggbb"; nothing here knows a toolkit.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from costlab.i18n import _
from costlab_gui.model.facts import Facts, Verdict
from costlab_gui.model.formula import View, shown_class
from costlab_gui.model.wording import conditions, how_derived


def facts_table(view: View, facts: Facts | None, dim: str, good: str, warn: str) -> str:
    """Order, claims, domain, derivation, other classes, gaps and notes."""
    rows = [*_order_rows(facts, good, warn), *_derivation_rows(view)]
    if facts is not None and len(facts.classes) > 1:
        lines = [
            f"<b>{escape(one.domain)}</b>{_(' (these sizes)') if one.holds else ''}: "
            f"{escape(one.formula)}"
            for one in facts.classes
        ]
        rows.append((_("classes"), "<br>".join(lines)))
    cells = "".join(
        f'<tr><td style="color:{dim}; padding: 2px 16px 2px 0" width="18%">{escape(label)}</td>'
        f'<td style="padding: 2px 0">{text}</td></tr>'
        for label, text in rows
    )
    return f'<table width="100%">{cells}</table>'


def _order_rows(facts: Facts | None, good: str, warn: str) -> Iterable[tuple[str, str]]:
    if facts is None:
        yield _("order"), "…"
        return
    if facts.order:
        each = ", ".join(
            _("in {name}: {power}").format(power=power, name=name)
            for name, power in facts.order_in.items()
        )
        yield _("order"), f"<b>{escape(facts.order)}</b>" + (f" ({escape(each)})" if each else "")
    for verdict in facts.verdicts:
        yield _("paper"), _verdict(verdict, good, warn)


def _verdict(verdict: Verdict, good: str, warn: str) -> str:
    if verdict.agrees is None:
        return f"{escape(verdict.short)}. {escape(verdict.text)}"
    colour, mark = (good, "✓ ") if verdict.agrees else (warn, "")
    return (
        f'<span style="color:{colour}">{mark}{escape(verdict.short)}</span>. {escape(verdict.text)}'
    )


def _derivation_rows(view: View) -> Iterable[tuple[str, str]]:
    place = view.place
    derivation = place.derivation
    shown = shown_class(place, view.quantity, view.scope)
    yield _("holds for"), escape(conditions(place.cost_class.domain))
    if shown is not place.cost_class:
        yield (
            "",
            _("written as for {domain}, which gives the same here").format(
                domain=escape(conditions(shown.domain))
            ),
        )
    if derivation.auxiliary:
        text = ", ".join(f"{name} = {expr}" for name, expr in derivation.auxiliary.items())
        yield _("where"), escape(text)
    yield _("derived"), escape(how_derived(derivation, place.cost_class))
    if derivation.rerolled:
        yield _("loops"), escape(_("found and closed over {names}").format(
            names=", ".join(derivation.rerolled)
        ))  # fmt: skip
    sizes = "; ".join(
        " ".join(f"{name}={value}" for name, value in at.items())
        for at in place.cost_class.verified_at
    )
    if sizes:
        yield _("verified at"), escape(sizes)
    yield (
        _("not counted"),
        escape(", ".join(derivation.gaps) or _("nothing: every operator has a rule")),
    )
    notes = (*derivation.notes, *derivation.proof)
    if notes:
        yield _("notes"), "<br>".join(escape(note) for note in notes)
