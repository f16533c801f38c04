"""A formula as a row of pieces that are drawn one by one: each has a colour, lines break between.

Also the texts that the copy buttons put on the clipboard.
"""

from __future__ import annotations

from dataclasses import dataclass

from costlab.algebra import Expr
from costlab.formulas.latex import latex
from costlab.formulas.plain import formula
from costlab.formulas.simplify import pretty
from costlab.i18n import _
from costlab.units import UNITS
from costlab_gui.model.breakdown import peak_moment
from costlab_gui.model.formula import View, expression, quantity_title
from costlab_gui.model.terms import Evaluator, exact, split, symbol_text

DIM = -1
_MOST_CANDIDATES = 3
_MOST_TERMS = 14
_PYTHON = {"ceiling": "ceil", "floor": "floor", "log": "log", "Max": "max", "Min": "min"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One drawing.

    Attributes:
        latex, text: the same twice, ``text`` where nothing can be drawn.
        colour: index of a term's colour, ``DIM``, or None for the colour of text.
        space: blank before it, in em.
        breaks: whether a line may begin here.
    """

    latex: str
    text: str
    colour: int | None = None
    space: float = 0.0
    breaks: bool = True


def pieces(view: View) -> tuple[Piece, ...]:
    """What to draw: the terms of the candidate that holds in colour, others dim."""
    if not view.parts:
        return (Piece("0", "0"),) if view.total == 0 else ()
    coloured = _sum(
        [(p.term.latex, p.term.text, p.term.negative, p.colour) for p in view.parts], first=0.0
    )
    if len(view.exprs) < 2 or not is_whole(view):
        return tuple(coloured)
    found = [Piece(r"\max", "max"), Piece("(", "(", None, 0.1, False)]
    for at, expr in enumerate(view.exprs):
        if at:
            found.append(Piece(",", ",", None, 0.0, False))
        first = 0.6 if at else 0.05
        if at == view.winner:
            rows = [(p.term.latex, p.term.text, p.term.negative, p.colour) for p in view.parts]
        else:
            rows = [(t.latex, t.text, t.negative, DIM) for t in split(expr, view.names)]
        found += _sum(rows, first=first)
    return (*found, Piece(")", ")", None, 0.05, False))


def is_whole(view: View) -> bool:
    """Whether a maximum is short enough to be shown with all its candidates."""
    terms = sum(len(expr.terms) for expr in view.exprs)
    return len(view.exprs) <= _MOST_CANDIDATES and terms <= _MOST_TERMS


def _sum(rows: list[tuple[str, str, bool, int]], first: float) -> list[Piece]:
    found: list[Piece] = []
    for at, (tex, text, negative, colour) in enumerate(rows):
        if at or negative:
            sign = ("-", "−") if negative else ("+", "+")
            found.append(Piece(*sign, None, 0.35 if at else first, True))
            found.append(Piece(tex, text, colour, 0.35 if at else 0.1, False))
        else:
            found.append(Piece(tex, text, colour, first, True))
    return found


def caption(view: View) -> str:
    """What a reader must know beside the picture: of which candidates it is one."""
    if len(view.exprs) < 2 or is_whole(view):
        return ""
    text = _("the largest of {count} moments").format(count=len(view.exprs))
    moment = peak_moment(view.place) if view.quantity == "peak_bytes" else ""
    return f"{text}: {moment}" if moment else text


def where(view: View) -> tuple[str, ...]:
    """What the short names of long functions stand for, with their values."""
    if not view.names or not view.parts:
        return ()
    shown = {atom for expr in _shown(view) for mono in expr.terms for atom, _power in mono}
    at = Evaluator(view.place.sizes)
    lines = []
    for function, name in view.names.items():
        if function in shown:
            text = f"{symbol_text(name)} = {formula(Expr({((function, 1),): 1}))}"
            value = f" = {exact(at.atom(function), '')}" if view.place.sizes else ""
            lines.append(text + value)
    return tuple(lines)


def _shown(view: View) -> tuple[Expr, ...]:
    return view.exprs if is_whole(view) else (view.exprs[view.winner],)


def plain_line(view: View) -> str:
    """The formula as one line of text, for those who hear it and where nothing is drawn."""
    found = pieces(view)
    return "".join((" " if piece.space >= 0.3 else "") + piece.text for piece in found).strip()


def as_text(view: View) -> str:
    """For the clipboard: the whole formula as people write it, with numbers and the value."""
    expr = whole(view)
    written = plain_line(view) if expr is None else formula(expr)
    lines = [f"{quantity_title(view.quantity)} = {written}"]
    if view.total is not None:
        put_in = "".join(
            (" − " if part.term.negative else " + " if at else "") + part.numbers
            for at, part in enumerate(view.parts)
        ).strip()
        lines.append(f"= {put_in}")
        lines.append(f"= {exact(view.total, view.unit)}")
    return "\n".join(lines)


def as_latex(view: View) -> str:
    """For the clipboard: ``quantity = formula``."""
    expr = whole(view)
    label = view.quantity.replace("_", r"\_")
    return "" if expr is None else rf"\mathrm{{{label}}} = {latex(expr)}"


def as_python(view: View) -> str:
    """For the clipboard: a function of the sizes that Python runs as it is."""
    expr = whole(view)
    if expr is None:
        return ""
    derivation = view.place.derivation
    symbols = expr.symbols()
    made = {k: v for k, v in derivation.auxiliary.items() if k in symbols}
    needed = symbols - made.keys() | {s for part in made.values() for s in part.symbols()}
    order = [*(s for s in derivation.sizes if s in needed)]
    order += sorted(needed - set(order))
    body = [f"    {name} = {pretty(part)}" for name, part in made.items()]
    body.append(f"    return {pretty(expr)}")
    text = "\n".join(body)
    used = [_PYTHON[name] for name in ("ceiling", "floor", "log") if f"{name}(" in text]
    head = [f"from math import {', '.join(used)}", "", ""] if used else []
    unit = UNITS[view.quantity] or _("count")
    head.append(f"def {view.quantity}({', '.join(order)}):")
    head.append(f'    """{quantity_title(view.quantity)}, {unit}."""')
    for name, ours in _PYTHON.items():
        text = text.replace(f"{name}(", f"{ours}(")
    return "\n".join([*head, text])


def whole(view: View) -> Expr | None:
    """The formula as one expression; None where there is none."""
    return expression(view.place, view.quantity, view.scope)[0]
