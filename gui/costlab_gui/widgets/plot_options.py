"""What the curves page draws: quantities, the size on the x axis, scales, linked zoom."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QToolButton, QWidget

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab.symbols import describe
from costlab.units import format_count
from costlab_gui.hub import Hub
from costlab_gui.model.explore import metric_title
from costlab_gui.model.session import METRICS
from costlab_gui.theme.icons import set_icon
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.budget_control import BudgetControl
from costlab_gui.widgets.flow_layout import FlowLayout
from costlab_gui.widgets.segmented import SegmentedControl
from costlab_gui.widgets.size_edit import SizeEdit

_DIGITS = 7
_SPREAD = 32
"""A newly chosen x axis reaches this factor below and above the present size."""


class PlotOptions(QWidget):
    """Controls of what is drawn: ``metrics``, ``over``, its range, scales, linked zoom, limits."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hub = hub
        self.metrics = SegmentedControl(
            _("quantities"), [(key, _short_title(key)) for key in METRICS], multiple=True
        )
        self.metrics.chosen.connect(
            lambda keys: hub.change(_("choose quantities"), metrics=tuple(keys))
        )
        self.over = QComboBox()
        self.over.setMaximumWidth(17 * self.fontMetrics().horizontalAdvance("m"))
        self.over.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.over.setAccessibleName(_("size on the x axis"))
        self.over.activated.connect(lambda: self._choose_over(self.over.currentData()))
        self.log_x = self._toggle(_("log x"), _("Logarithmic x axis"), "log_x")
        self.log_y = self._toggle(_("log y"), _("Logarithmic y axis"), "log_y")
        self.link = self._toggle("", _("Zoom all panels together along x"), "linked")
        self.link.toggled.connect(self._show_link)
        self._show_link(hub.session.linked)
        label = QLabel(_("over"))
        set_role(label, "dim")
        self._axes = axes = QWidget()
        row = QHBoxLayout(axes)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        self.low = self._end(_("start of the x axis"), "low")
        self.high = self._end(_("end of the x axis"), "high")
        dash = QLabel("–")
        set_role(dash, "dim")
        for part in (label, self.over, self.low, dash, self.high):
            row.addWidget(part)
        self._row = row
        self.budget = BudgetControl(hub)
        switches = QWidget()
        others = QHBoxLayout(switches)
        others.setContentsMargins(0, 0, 0, 0)
        others.setSpacing(4)
        for button in (self.log_x, self.log_y, self.link):
            others.addWidget(button)
        layout = FlowLayout(self, 8)
        for group in (self.metrics, self.budget, axes, switches):
            layout.addWidget(group)

    def refresh(self) -> None:
        """Show the session."""
        session = self._hub.session
        self.metrics.set_value(session.metrics)
        for button, on in (
            (self.log_x, session.log_x), (self.log_y, session.log_y), (self.link, session.linked)
        ):  # fmt: skip
            blocked = button.blockSignals(True)
            button.setChecked(on)
            button.blockSignals(blocked)
        self._show_link(session.linked)
        self.low.set_size(session.low)
        self.high.set_size(session.high)
        self.budget.refresh()
        self.link.setVisible(len(session.metrics) > 1)
        symbols = self._symbols()
        if symbols != [self.over.itemData(index) for index in range(self.over.count())]:
            self.over.clear()
            for name in symbols:
                known = describe(name)
                meaning = known.meaning.partition(" (")[0] if known else ""
                self.over.addItem(f"{name}, {meaning}" if meaning else name, name)
            self._row.invalidate()
            self._axes.setMinimumWidth(self._row.sizeHint().width())
        self.over.setCurrentIndex(self.over.findData(session.over))

    def _symbols(self) -> list[str]:
        """Every size that a shown program has, those of the first one first."""
        session, found = self._hub.session, dict[str, None]()
        for target in session.shown:
            try:
                found |= dict.fromkeys(
                    self._hub.workspace.derivation(target, session.setting).sizes
                )
            except CostLabError:
                continue
        found.setdefault(session.over)
        return list(found)

    def _choose_over(self, name: str) -> None:
        session = self._hub.session
        if name == session.over:
            return
        now = session.sizes.get(name, _SPREAD)
        low = max(1, 2 ** (now // _SPREAD).bit_length() // 2)
        high = max(2 ** (now * _SPREAD - 1).bit_length(), 2 * low)
        self._hub.change(_("show over {name}").format(name=name), over=name, low=low, high=high)

    def _end(self, title: str, field: str) -> SizeEdit:
        edit = SizeEdit(title)
        edit.setToolTip(title)
        metrics = edit.fontMetrics()
        edit.setFixedWidth(metrics.horizontalAdvance("0" * _DIGITS) + metrics.height())
        edit.typed.connect(lambda size: self._set_end(edit, field, size))
        edit.refused.connect(self._hub.tell)
        return edit

    def _set_end(self, edit: SizeEdit, field: str, size: int) -> None:
        session = self._hub.session
        low, high = (size, session.high) if field == "low" else (session.low, size)
        if low >= high:
            self._hub.tell(_("the x axis starts below its end"))
            edit.set_size(getattr(session, field))
            return
        text = _("show {name} from {low} to {high}").format(
            name=session.over, low=format_count(low), high=format_count(high)
        )
        self._hub.change(text, low=low, high=high)

    def _toggle(self, text: str, title: str, field: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setCheckable(True)
        button.setChecked(getattr(self._hub.session, field))
        button.setToolTip(title)
        button.setAccessibleName(title)
        button.toggled.connect(lambda on: self._hub.change(title.lower(), **{field: on}))
        return button

    def _show_link(self, on: bool) -> None:
        set_icon(self.link, "link" if on else "unlink")


def _short_title(metric: str) -> str:
    return {"bytes": _("Bytes")}.get(metric, metric_title(metric))
