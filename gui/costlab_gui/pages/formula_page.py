"""The page "formula": one quantity of the selected program, written out and taken apart."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.formula import QUANTITIES, View, quantity_title, view
from costlab_gui.model.place import locate
from costlab_gui.pages.page import Page
from costlab_gui.widgets.breakdown_card import BreakdownCard
from costlab_gui.widgets.calm import Calm
from costlab_gui.widgets.copy_buttons import CopyButtons
from costlab_gui.widgets.facts_source import source
from costlab_gui.widgets.formula_sheet import FormulaSheet
from costlab_gui.widgets.segmented import SegmentedControl


class FormulaPage(Page):
    """Follows ``session.selected``; which quantity is looked at is the page's own."""

    key = "formula"

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(hub, parent)
        self._program = QComboBox()
        self._program.setAccessibleName(_("Program"))
        self._program.setMinimumContentsLength(9)
        self._program.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self._program.activated.connect(self._choose_program)
        self._quantity = QComboBox()
        self._quantity.setAccessibleName(_("Quantity"))
        self._quantity.setMinimumContentsLength(9)
        self._quantity.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        for quantity in QUANTITIES:
            self._quantity.addItem(quantity_title(quantity), quantity)
        self._quantity.currentIndexChanged.connect(lambda _at: self._show())
        self._scope = SegmentedControl(_("scope"), (("layer", _("Layer")), ("core", _("Core"))))
        self._scope.set_value(["layer"])
        self._scope.button("core").setToolTip(_("The part that mixes positions"))
        self._scope.chosen.connect(lambda _keys: self._show())
        self._copy = CopyButtons(hub)
        bar = QHBoxLayout()
        bar.addWidget(self._program, 1)
        bar.addWidget(self._quantity, 1)
        bar.addWidget(self._scope)
        bar.addWidget(self._copy)
        self.sheet = FormulaSheet(hub)
        area = QScrollArea()
        area.setWidget(self.sheet)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.parts = BreakdownCard()
        halves = QSplitter(Qt.Orientation.Vertical)
        halves.setHandleWidth(12)
        halves.addWidget(area)
        halves.addWidget(self.parts)
        halves.setChildrenCollapsible(False)
        halves.setStretchFactor(0, 3)
        halves.setStretchFactor(1, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(bar)
        layout.addWidget(halves, 1)
        source().came.connect(self._on_facts)
        self._calm = Calm(hub, self, self._show)

    @property
    def title(self) -> str:
        return _("Formula")

    @property
    def quantity(self) -> str:
        """The quantity that is looked at."""
        return str(self._quantity.currentData())

    def show_quantity(self, quantity: str) -> None:
        """Look at another quantity, as its menu does."""
        self._quantity.setCurrentIndex(QUANTITIES.index(quantity))

    def refresh(self, changed: frozenset[str]) -> None:
        if not changed or changed & {"programs", "selected"}:
            self._fill_programs()
        if changed != {"page"}:
            self._calm.ask()

    def retheme(self) -> None:
        self.sheet.retheme()
        self.parts.retheme()

    def _fill_programs(self) -> None:
        session = self.hub.session
        targets = list(dict.fromkeys((*session.programs, session.selected)))
        self._program.clear()
        for target in targets:
            self._program.addItem(self.hub.workspace.title(target), target)
        self._program.setCurrentIndex(targets.index(session.selected))

    def _choose_program(self, index: int) -> None:
        self.hub.change(selected=self._program.itemData(index))

    def _show(self) -> None:
        session = self.hub.session
        found: View | None = None
        problem = ""
        try:
            place = locate(session.setting, self.hub.workspace, session.selected)
            found = view(place, self.quantity, self._scope.value[0])
        except CostLabError as error:
            problem = str(error)
        self.sheet.show_view(found, problem)
        self.parts.show_view(found)
        self._copy.show_view(found)

    def _on_facts(self, _key: object) -> None:
        if self.isVisible():
            self.sheet.show_facts()
