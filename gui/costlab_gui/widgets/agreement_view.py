"""Predicted against measured over a run: errors, growth and crossovers with their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtWidgets import QLabel, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.model.agreement import findings, headline
from costlab_gui.theme.stylesheet import set_role


class AgreementView(QWidget):
    """Shows the answer of ``costlab compare``, or a sentence until there is one.

    ``title`` names a program.
    """

    def __init__(self, title: Callable[[str], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self._headline = QLabel()
        self._headline.setWordWrap(True)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName(_("predicted against measured"))
        self.tree.setHeaderLabels([_("what"), _("predicted"), _("measured"), _("verdict")])
        self.tree.setUniformRowHeights(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._headline)
        layout.addWidget(self.tree, 1)

    def say(self, text: str, *, wrong: bool = False) -> None:
        """A sentence instead of a comparison."""
        self._headline.setText(text)
        set_role(self._headline, "error" if wrong else "dim")
        self.tree.clear()

    def show_answer(self, answer: Mapping[str, Any]) -> None:
        """Show what ``costlab compare --json`` answered."""
        set_role(self._headline, "strong")
        self._headline.setText(
            headline(answer) or _("No point of this run has a prediction to compare with.")
        )
        self.tree.clear()
        groups: dict[str, QTreeWidgetItem] = {}
        for one in findings(answer, self._title):
            if one.group not in groups:
                groups[one.group] = QTreeWidgetItem([one.group])
                self.tree.addTopLevelItem(groups[one.group])
                groups[one.group].setExpanded(True)
            cells = [one.what, one.predicted, one.measured, one.verdict]
            groups[one.group].addChild(QTreeWidgetItem(cells))
        for column in range(3):
            self.tree.resizeColumnToContents(column)
