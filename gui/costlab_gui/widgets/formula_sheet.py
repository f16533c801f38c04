"""A formula written out: large, with numbers beneath, its shares, and what is known of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.facts import key
from costlab_gui.model.formula import View, quantity_title
from costlab_gui.model.formula_html import facts_table
from costlab_gui.model.pieces import caption, pieces, plain_line, where
from costlab_gui.model.terms import exact
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.facts_source import known_facts
from costlab_gui.widgets.math_view import MathView
from costlab_gui.widgets.origin_dialog import open_origin
from costlab_gui.widgets.share_bar import ShareBar
from costlab_gui.widgets.terms_table import TermsTable

_SELECTABLE = (
    Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
)


class FormulaSheet(QWidget):
    """Two cards: the formula with its terms, and its order, domain and derivation."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self._view: View | None = None
        self._picture: object = None
        self._told: object = None
        self._formula = Card()
        self._value = QPushButton()
        set_role(self._value, "link")
        self._value.setToolTip(_("Where this number comes from"))
        self._value.clicked.connect(self._open)
        self._exact = QLabel()
        set_role(self._exact, "small")
        head = QHBoxLayout()
        head.addWidget(self._value)
        head.addWidget(self._exact)
        head.addStretch()
        self.math = MathView(1.6)
        self._caption = _text("small")
        self.bar = ShareBar()
        self._terms = TermsTable()
        self._problem = _text("dim")
        self._formula.body.addLayout(head)
        for widget in (self._problem, self.math, self._caption, self.bar, self._terms):
            self._formula.body.addWidget(widget)
        self._known = Card(_("ORDER, DOMAIN AND DERIVATION"))
        self._facts = _text("")
        self._known.body.addWidget(self._facts)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self._formula)
        layout.addWidget(self._known)
        layout.addStretch(1)

    def show_view(self, view: View | None, problem: str = "") -> None:
        """Show a formula; only numbers change while it stays the same.

        Args:
            view: the formula; None shows ``problem`` alone.
            problem: why there are no formulas.
        """
        self._view = view
        problem = problem or ("" if view is None else view.problem)
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        self._known.setVisible(view is not None)
        for widget in (self._value, self._exact, self.math, self.bar, self._terms):
            widget.setVisible(view is not None and bool(view.parts))
        if view is None:
            self._formula.set_title("")
            return
        self._formula.set_title(self._title(view))
        if view.total is not None:
            self._value.setText(view.text(view.total))
            self._exact.setText(_("exactly {value}").format(value=exact(view.total, view.unit)))
        else:
            self._value.setText("")
            self._exact.setText("")
        if view.picture != self._picture:
            self._picture = view.picture
            self.math.show_pieces(pieces(view), plain_line(view))
            self.math.setAccessibleName(quantity_title(view.quantity))
        notes = "\n".join(line for line in (caption(view), *where(view)) if line)
        self._caption.setText(notes)
        self._caption.setVisible(bool(notes))
        self.bar.show_parts(view.parts)
        for widget in (self.bar, self._terms):
            widget.setVisible(view.total is not None and bool(view.parts))
        self._terms.show_parts(view.parts, view.text)
        self.show_facts()

    def show_facts(self) -> None:
        """Show order and claims once they are worked out."""
        view = self._view
        if view is None:
            return
        theme = current()
        found = known_facts(view.place, view.quantity, view.scope)
        shown = (key(view.place, view.quantity, view.scope), found, view.place.problem, theme)
        if shown != self._told:
            self._told = shown
            self._facts.setText(facts_table(view, found, theme.dim, theme.good, theme.warn))

    def retheme(self) -> None:
        self.math.retheme()
        self.bar.update()
        self._terms.viewport().update()
        if self._view is not None:
            self.show_view(self._view)

    def _title(self, view: View) -> str:
        name = self._hub.workspace.title(view.place.target)
        text = _("{quantity} · {name}, {mode}").format(
            quantity=quantity_title(view.quantity), name=name, mode=view.place.derivation.mode
        )
        return text.upper()

    def _open(self) -> None:
        if self._view is not None:
            open_origin(self._hub, self._view.place.target, self._view.quantity, parent=self)


def _text(role: str) -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextInteractionFlags(_SELECTABLE)
    if role:
        set_role(label, role)
    return label
