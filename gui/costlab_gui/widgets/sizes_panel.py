"""The card with one control for every size that the chosen programs have."""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.session import Session
from costlab_gui.model.sizes import Sizes, changed_sizes, sizes_of, snap_of
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.card import Card
from costlab_gui.widgets.head_size import HeadSizeRow
from costlab_gui.widgets.size_control import SizeControl
from costlab_gui.widgets.size_edit import grouped

_FIELDS = frozenset({"programs", "sizes", "mode", "dtype", "device", "options", "opened"})
_ROW_GAP = 5


class SizesPanel(Card):
    """A drag is one step of undo; undo moves the sliders back."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(_("Sizes"), parent)
        self.hub = hub
        self._controls: dict[str, SizeControl] = {}
        self._drag: int | None = None
        self._sizes: tuple[Session, Sizes] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.body.setSpacing(_ROW_GAP)
        self._nothing = QLabel(_("Compare an architecture to see its sizes."))
        self._nothing.setWordWrap(True)
        set_role(self._nothing, "dim")
        self.body.addWidget(self._nothing)
        self._head = HeadSizeRow(self)
        self._head.sized.connect(lambda size: self._change("k", size))
        self._head.kept.connect(lambda _on: self.refresh())
        hub.changed.connect(self._note)
        hub.data_changed.connect(self._learn)
        self.refresh()

    def control(self, name: str) -> SizeControl:
        """The control of a size.

        Raises:
            KeyError: if no chosen program has it.
        """
        return self._controls[name]

    @property
    def head_size(self) -> HeadSizeRow:
        """The row of the head size, hidden where no program has heads."""
        return self._head

    def refresh(self) -> None:
        """Show the sizes of the session as they are now."""
        sizes = self._known()
        names = [line.name for line in sizes.lines]
        if names != list(self._controls):
            self._rebuild(names)
        for line in sizes.lines:
            self._controls[line.name].show_line(line, snap_of(sizes, line.name, self._head.keeps))
        self._head.show_head(sizes.head_size)
        self._nothing.setVisible(not names)

    def _known(self) -> Sizes:
        """The sizes of the session; a drag asks for them at the end of a frame and at the next."""
        session = self.hub.session
        if self._sizes is None or self._sizes[0] is not session:
            self._sizes = session, sizes_of(session, self.hub.workspace)
        return self._sizes[1]

    def _note(self, changed: frozenset[str]) -> None:
        if changed & _FIELDS:
            self.refresh()

    def _learn(self, which: str) -> None:
        if which == "formulas":
            self._sizes = None
            self.refresh()

    def _rebuild(self, names: list[str]) -> None:
        old, self._controls = self._controls, {}
        for control in (*old.values(), self._head):
            self.body.removeWidget(control)
        for name in names:
            self._controls[name] = old.pop(name) if name in old else self._made(name)
        for control in old.values():
            control.hide()
            control.deleteLater()
        rows: list[QWidget] = [self._controls[name] for name in names]
        rows.insert(names.index("h") + 1 if "h" in names else len(rows), self._head)
        for place, row in enumerate(rows):
            self.body.insertWidget(place, row)
        self._order_tabs(names)

    def _order_tabs(self, names: list[str]) -> None:
        stops: list[QWidget] = []
        for name in names:
            control = self._controls[name]
            stops += [control.slider, control.edit]
            if name == "h":
                stops += [self._head.keep, self._head.edit]
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

    def _made(self, name: str) -> SizeControl:
        control = SizeControl(name)
        control.pressed.connect(self._begin)
        control.released.connect(self._end)
        control.sized.connect(lambda size, name=name: self._change(name, size))
        return control

    def _begin(self) -> None:
        self._drag = self.hub.new_drag()
        self.hub.dragging.emit(True)

    def _end(self) -> None:
        self._drag = None
        self.hub.dragging.emit(False)

    def _change(self, name: str, size: int) -> None:
        sizes = self._known()
        text = _("set {name} to {value}").format(name=name, value=grouped(size))
        changes = changed_sizes(sizes, name, size, self._head.keeps)
        self.hub.change(text, drag=self._drag, sizes=changes)
