"""The line at the bottom: what numbers rest on, the latest message, and the jobs."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.choices import basis_line
from costlab_gui.model.messages import ERROR, INFO, WARNING, Message
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.elided_label import ElidedLabel

_ROLES = {INFO: "dim", WARNING: "warning", ERROR: "error"}
_INFO_MS = 8000


class StatusLine(QFrame):
    """Errors and warnings stay until the next message; other messages go after a while.

    Whatever shows jobs is added to ``jobs``, a layout at the right end.
    """

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hub = hub
        set_role(self, "bar")
        self._left = ElidedLabel()
        set_role(self._left, "dim")
        self._message = ElidedLabel()
        self._message.setAccessibleName(_("message"))
        self.jobs = QHBoxLayout()
        self.jobs.setSpacing(8)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 6, 16, 6)
        layout.setSpacing(16)
        layout.addWidget(self._left)
        layout.addWidget(self._message, 1)
        layout.addLayout(self.jobs)
        self.fade_ms = _INFO_MS
        self._fade = QTimer(self)
        self._fade.setSingleShot(True)
        self._fade.timeout.connect(lambda: self._message.setText(""))
        hub.told.connect(self.show_message)
        hub.changed.connect(self._note)
        hub.data_changed.connect(self._learn)
        hub.closing.connect(self._fade.stop)
        self._show_basis()

    def show_message(self, message: Message) -> None:
        """Show a message in the colour of its level."""
        set_role(self._message, _ROLES.get(message.level, "dim"))
        self._message.setText(message.text)
        self._message.setToolTip(message.details or message.text)
        self._message.setAccessibleDescription(message.text)
        if message.level == INFO:
            self._fade.start(self.fade_ms)
        else:
            self._fade.stop()

    @property
    def message(self) -> str:
        """The message that stands there."""
        return self._message.text()

    @property
    def fading(self) -> bool:
        """Whether the message goes by itself."""
        return self._fade.isActive()

    @property
    def basis(self) -> str:
        """What the numbers rest on, as it stands at the left."""
        return self._left.text()

    def _note(self, changed: frozenset[str]) -> None:
        if changed & {"device", "dtype", "threads"}:
            self._show_basis()

    def _learn(self, which: str) -> None:
        if which == "machines":
            self._show_basis()

    def _show_basis(self) -> None:
        self._left.setText(basis_line(self.hub.session, self.hub.workspace))
