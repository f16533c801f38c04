"""The right column of the Plan page: one plan in figures, why it is so, and what was assumed."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget

from costlab.i18n import _
from costlab_gui.model.plan import Answer
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.fact_list import FactList
from costlab_gui.widgets.reason_list import ReasonList

_WIDTH_EM = 20


class PlanWhy(QScrollArea):
    """Explains one row of an answer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.facts = FactList(_("the plan in short"))
        self.reasons = ReasonList(_("reasons"))
        self.notes = ReasonList(_("assumptions"))
        card = Card(_("This plan"))
        for widget in (self.facts, self.reasons, self.notes):
            card.body.addWidget(widget)
        card.body.addStretch(1)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(card)
        self.setFixedWidth(_WIDTH_EM * self.fontMetrics().horizontalAdvance("m"))

    def show_row(self, answer: Answer, row: int) -> None:
        """Explain a row."""
        self.facts.show_facts(answer.facts[row])
        self.reasons.show_reasons(answer.reasons[row])
        self.notes.show_reasons([(_("Assumed"), "; ".join(answer.assumptions))])

    def show_nothing(self) -> None:
        """Say that there is no plan."""
        self.facts.show_facts(())
        self.reasons.show_reasons([(_("No plan"), _("There is nothing to explain."))])
        self.notes.show_reasons(())

    def retheme(self) -> None:
        """Write in the colours of the theme."""
        self.reasons.retheme()
        self.notes.retheme()
