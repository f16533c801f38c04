"""The card "formula": the selected program's FLOP and peak memory, what they are made of."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.facts import Facts
from costlab_gui.model.formula import View, quantity_title, view
from costlab_gui.model.pieces import caption, pieces, plain_line, where
from costlab_gui.model.place import Place, locate
from costlab_gui.model.wording import conditions
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.theme.tokens import current
from costlab_gui.widgets.calm import Calm
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.copy_buttons import CopyButtons
from costlab_gui.widgets.elided_label import ElidedLabel
from costlab_gui.widgets.facts_source import known_facts, source
from costlab_gui.widgets.math_view import MathView
from costlab_gui.widgets.share_bar import ShareBar
from costlab_gui.widgets.term_colours import term_colour

_SHOWN = 4
_MATTERS = frozenset(
    {"selected", "programs", "sizes", "mode", "dtype", "device", "threads", "options", "over"}
)


class FormulaCard(Card):
    """Follows ``session.selected``; its numbers are clickable."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.hub = hub
        self._problem = QLabel()
        self._problem.setWordWrap(True)
        set_role(self._problem, "dim")
        self._flop = _Block(hub, "flop", with_values=True)
        self._peak = _Block(hub, "peak_bytes", with_values=False)
        self._order = QLabel()
        self._verdict = QLabel()
        self._verdict.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._verdict.setWordWrap(True)
        row = QHBoxLayout()
        row.addWidget(self._order)
        row.addWidget(self._verdict, 1)
        self._domain = QLabel()
        self._domain.setWordWrap(True)
        set_role(self._domain, "small")
        self._copy = CopyButtons(hub)
        more = QPushButton(_("By operator"))
        more.setToolTip(_("Open the page of this formula"))
        more.clicked.connect(lambda: hub.change(page="formula"))
        self._copy.row.addWidget(more)
        for widget in (self._problem, self._flop, self._peak):
            self.body.addWidget(widget)
        self.body.addLayout(row)
        self.body.addWidget(self._domain)
        self.body.addWidget(self._copy)
        self._calm = Calm(hub, self, self.refresh)
        hub.changed.connect(self._on_changed)
        hub.data_changed.connect(lambda _which: self.refresh())
        hub.themed.connect(self._retheme)
        source().came.connect(self._on_facts)
        self.refresh()

    def refresh(self) -> None:
        """Show the session as it is now."""
        session = self.hub.session
        target = session.selected
        name = self.hub.workspace.title(target).upper()
        self.set_title(_("FORMULA · {name}, {mode}").format(
            name=name, mode=session.setting.mode.upper()
        ))  # fmt: skip
        try:
            place = locate(session.setting, self.hub.workspace, target)
        except CostLabError as error:
            self._show_problem(str(error), alone=True)
            self._copy.show_view(None)
            return
        self._show_problem(place.problem, alone=False)
        flop, peak = view(place, "flop"), view(place, "peak_bytes")
        self._flop.show_view(flop)
        self._peak.show_view(peak)
        self._copy.show_view(flop)
        self._domain.setText(_("holds for {domain}").format(
            domain=conditions(place.cost_class.domain)
        ))  # fmt: skip
        self._show_facts(place)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def _show_problem(self, text: str, *, alone: bool) -> None:
        self._problem.setText(text)
        self._problem.setVisible(bool(text))
        for widget in (self._flop, self._peak, self._order, self._verdict, self._domain):
            widget.setVisible(not alone)

    def _show_facts(self, place: Place) -> None:
        found = known_facts(place, "flop", "layer")
        over = self.hub.session.over
        power = found.order_in.get(over, "1") if found else "…"
        self._order.setText(_("order in {over}: <b>{power}</b>").format(over=over, power=power))
        self._order.setToolTip(found.order if found else "")
        verdict = found.verdicts[0] if found and found.verdicts else None
        self._verdict.setText("" if found is None else _verdict_text(found))
        set_role(self._verdict, _verdict_role(found))
        self._verdict.setToolTip("\n".join(v.text for v in found.verdicts) if found else "")
        self._verdict.setAccessibleDescription(verdict.text if verdict else "")

    def _on_changed(self, changed: frozenset[str]) -> None:
        if changed & _MATTERS and self.isVisible():
            self._calm.ask()

    def _on_facts(self, _key: object) -> None:
        if self.isVisible():
            self.refresh()

    def _retheme(self) -> None:
        self._flop.retheme()
        self._peak.retheme()
        self.refresh()


def _verdict_text(found: Facts) -> str:
    if not found.verdicts:
        return _("the paper states no order of this")
    first = found.verdicts[0]
    return f"✓ {first.short}" if first.agrees else first.short


def _verdict_role(found: Facts | None) -> str:
    if found is None or not found.verdicts or found.verdicts[0].agrees is None:
        return "dim"
    return "good" if found.verdicts[0].agrees else "warning"


class _Block(QWidget):
    """One quantity: its name and value, the formula, the shares and what the terms are worth."""

    def __init__(self, hub: Hub, quantity: str, *, with_values: bool) -> None:
        super().__init__()
        self._hub = hub
        self._quantity = quantity
        title = QLabel(quantity_title(quantity))
        set_role(title, "dim")
        self._value = QPushButton()
        set_role(self._value, "link")
        self._value.setToolTip(_("Where this number comes from"))
        self._value.clicked.connect(self._open)
        head = QGridLayout()
        head.addWidget(title, 0, 0)
        head.addWidget(self._value, 0, 1, Qt.AlignmentFlag.AlignRight)
        head.setColumnStretch(0, 1)
        self._math = MathView(1.15)
        self._math.setAccessibleName(quantity_title(quantity))
        self._bar = ShareBar()
        self._values = QLabel() if with_values else ElidedLabel()
        self._values.setWordWrap(with_values)
        set_role(self._values, "small")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(self._math)
        layout.addWidget(self._bar)
        layout.addWidget(self._values)
        self._with_values = with_values
        self._picture: object = None
        self._view: View | None = None

    def show_view(self, found: View) -> None:
        """Show a formula; only numbers change while it stays the same."""
        self._view = found
        self._value.setText(found.text(found.total) if found.total is not None else "")
        self._value.setAccessibleName(
            f"{quantity_title(self._quantity)}: {found.text(found.total)}"
        )
        if found.picture != self._picture:
            self._picture = found.picture
            self._math.show_pieces(pieces(found), plain_line(found))
        self._bar.show_parts(found.parts)
        self._bar.setVisible(any(part.share for part in found.parts))
        self._show_values(found)

    def retheme(self) -> None:
        self._math.retheme()
        self._bar.update()
        if self._view is not None:
            self._show_values(self._view)

    def _show_values(self, found: View) -> None:
        theme = current()
        if found.total is None:
            self._values.setText(found.problem if not found.parts else "")
        elif self._with_values:
            largest = sorted(found.parts, key=lambda part: -abs(part.share))[:_SHOWN]
            self._values.setText(" · ".join(
                f'<span style="color:{term_colour(theme, part.colour)}">{part.term.text}</span> '
                f"{found.text(part.value)}"
                for part in largest
            ))  # fmt: skip
        else:
            self._values.setText(" · ".join((caption(found), *where(found))).strip(" ·"))
        self._values.setVisible(bool(self._values.text()))

    def _open(self) -> None:
        from costlab_gui.widgets.origin_dialog import open_origin

        open_origin(self._hub, self._hub.session.selected, self._quantity, parent=self)
