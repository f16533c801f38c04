"""The bar on top: mode, dtype, device, flags, and the one primary action."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QWidget,
)

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model.choices import (
    device_choices,
    flags,
    mode_title,
    modes_with_users,
    with_flag,
)
from costlab_gui.model.session import DTYPES, MODES
from costlab_gui.theme.icons import set_icon
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.segmented import SegmentedControl

_FIELDS = frozenset({"programs", "mode", "dtype", "device", "options", "opened"})
_DEVICE_LETTERS = 30


class TopBar(QFrame):
    """Shows the setting and changes it.

    Signals:
        undo_asked, report_asked, measure_asked: a button was pressed.
    """

    undo_asked = Signal()
    report_asked = Signal()
    measure_asked = Signal()

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hub = hub
        set_role(self, "bar")
        wordmark = QLabel("CostLab")
        set_role(wordmark, "wordmark")
        self.mode = SegmentedControl(_("Mode"), [(mode, mode_title(mode)) for mode in MODES])
        self.dtype = QComboBox()
        self.dtype.setAccessibleName(_("number format"))
        self.dtype.addItems(DTYPES)
        self.device = QComboBox()
        self.device.setAccessibleName(_("device"))
        self.device.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.device.setMinimumContentsLength(_DEVICE_LETTERS)
        self.devices = _tool("settings", _("Devices…"))
        flags = QWidget()
        self._flags = QHBoxLayout(flags)
        self._flags.setContentsMargins(0, 0, 0, 0)
        self._flags.setSpacing(4)
        self._flag_buttons: dict[str, QPushButton] = {}
        self.undo = _tool("undo", _("Undo"))
        self.report = QPushButton(_("Report…"))
        self.measure = QPushButton(_("Measure"))
        set_role(self.measure, "primary")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 8, 16, 8)
        layout.setSpacing(8)
        layout.addWidget(wordmark)
        layout.addSpacing(16)
        layout.addWidget(self.mode)
        layout.addSpacing(8)
        layout.addWidget(self.dtype)
        layout.addWidget(self.device)
        layout.addWidget(self.devices)
        layout.addWidget(flags)
        self._setting = (self.mode, self.dtype, self.device, flags)
        layout.addStretch(1)
        layout.addWidget(self.undo)
        layout.addWidget(self.report)
        layout.addWidget(self.measure)
        self.mode.chosen.connect(self._choose_mode)
        self.dtype.textActivated.connect(self._choose_dtype)
        self.device.activated.connect(self._choose_device)
        self.devices.clicked.connect(lambda: hub.asked.emit("devices", None))
        self.undo.clicked.connect(self.undo_asked)
        self.report.clicked.connect(self.report_asked)
        self.measure.clicked.connect(self.measure_asked)
        hub.changed.connect(self._note)
        hub.data_changed.connect(self._learn)
        # Reading all profiles takes longer than the rest of the bar.
        self.device.addItem(hub.session.setting.device, hub.session.setting.device)
        hub.idle.soon(self._fill_devices)
        self._show()

    def show_setting(self, on: bool) -> None:
        """Show mode, format, device and flags, or hide them on a page that they do not concern."""
        for widget in self._setting:
            widget.setVisible(on)

    def flag(self, name: str) -> QPushButton:
        """The button of a flag.

        Raises:
            KeyError: if no chosen program has it.
        """
        return self._flag_buttons[name]

    def _note(self, changed: frozenset[str]) -> None:
        if "device" in changed:
            self._fill_devices()
        if changed & _FIELDS:
            self._show()
        self._show_undo()

    def _learn(self, which: str) -> None:
        if which == "machines":
            self._fill_devices()
        if which == "formulas":
            self._show()

    def _show(self) -> None:
        session = self.hub.session
        setting = session.setting
        users = modes_with_users(session, self.hub.workspace)
        for mode, titles in users.items():
            usable = bool(titles) or not session.programs
            self.mode.set_usable(mode, usable, _("no chosen architecture has this mode"))
        self.mode.set_value([setting.mode])
        self.dtype.setCurrentText(setting.dtype)
        self.device.setCurrentIndex(self.device.findData(setting.device))
        self.device.setToolTip(self.device.currentText())
        self._show_flags(flags(session))
        self._show_undo()

    def _show_flags(self, names: tuple[str, ...]) -> None:
        if tuple(self._flag_buttons) != names:
            for button in self._flag_buttons.values():
                self._flags.removeWidget(button)
                button.hide()
                button.deleteLater()
            self._flag_buttons = {name: self._flag_button(name) for name in names}
        options = self.hub.session.setting.options
        for name, button in self._flag_buttons.items():
            button.setChecked(options.get(name, False))

    def _flag_button(self, name: str) -> QPushButton:
        title = _("Causal") if name == "causal" else name.capitalize()
        button = QPushButton(title)
        button.setCheckable(True)
        button.setToolTip(_("positions see only earlier ones") if name == "causal" else name)
        set_role(button, "segment")
        button.clicked.connect(lambda on: self._switch(name, title, on))
        self._flags.addWidget(button)
        return button

    def _show_undo(self) -> None:
        text = self.hub.document.undo_text
        self.undo.setEnabled(text is not None)
        self.undo.setToolTip(_("Undo: {what}").format(what=text) if text else _("nothing to undo"))

    def _fill_devices(self) -> None:
        choices = device_choices(self.hub.session, self.hub.workspace)
        self.device.clear()
        for choice in choices:
            self.device.addItem(f"{choice.title} · {choice.basis}", choice.name)
        self.device.setCurrentIndex(self.device.findData(self.hub.session.setting.device))

    def _choose_mode(self, chosen: tuple[str, ...]) -> None:
        if chosen:
            title = mode_title(chosen[0])
            self.hub.change(_("set mode to {mode}").format(mode=title), mode=chosen[0])

    def _choose_dtype(self, dtype: str) -> None:
        self.hub.change(_("set dtype to {dtype}").format(dtype=dtype), dtype=dtype)

    def _choose_device(self, index: int) -> None:
        title = self.device.itemText(index).partition(" · ")[0]
        name = self.device.itemData(index)
        self.hub.change(_("set device to {device}").format(device=title), device=name)

    def _switch(self, name: str, title: str, on: bool) -> None:
        text = _("switch {flag} on") if on else _("switch {flag} off")
        options = with_flag(self.hub.session, name, on)
        self.hub.change(text.format(flag=title.lower()), options=options)


def _tool(icon: str, name: str) -> QToolButton:
    button = QToolButton()
    set_role(button, "quiet")
    set_icon(button, icon)
    button.setToolTip(name)
    button.setAccessibleName(name)
    return button
