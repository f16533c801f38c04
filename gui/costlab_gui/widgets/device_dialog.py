"""The device editor: a profile duplicated, its figures changed with their sources, saved, used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from costlab.errors import CostLabError
from costlab.hardware.catalogue import load_profile, profile_names
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model import own_devices
from costlab_gui.model.device_editor import Draft
from costlab_gui.theme.stylesheet import set_role
from costlab_gui.widgets.error_line import ErrorLine
from costlab_gui.widgets.figure_row import FigureRow


class DeviceDialog(QDialog):
    """Begins with the profile that the session uses, or the first one."""

    def __init__(self, hub: Hub, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hub = hub
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(_("Devices"))
        self.draft = Draft.of(load_profile(profile_names()[0]))
        self.rows: dict[str, FigureRow] = {}
        self.start = QComboBox()
        self.start.setAccessibleName(_("Begin with"))
        for name in profile_names():
            self.start.addItem(load_profile(name).title, name)
        for path in own_devices.recent():
            self.start.addItem(path.name, str(path))
        self.name, self.title = QLineEdit(), QLineEdit()
        self.name.setAccessibleName(_("Name"))
        self.title.setAccessibleName(_("Title"))
        self.name.textEdited.connect(lambda text: self._change(replace(self.draft, name=text)))
        self.title.textEdited.connect(lambda text: self._change(replace(self.draft, title=text)))
        self._wrong = {"name": ErrorLine(self.name), "title": ErrorLine(self.title)}
        self.problem = QLabel()
        self.problem.setWordWrap(True)
        set_role(self.problem, "error")
        self.save = QPushButton(_("Save and use …"))
        set_role(self.save, "primary")
        self.save.clicked.connect(self._ask_file)
        close = QPushButton(_("Close"))
        close.setAutoDefault(False)
        close.clicked.connect(self.reject)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setAccessibleName(_("Figures"))
        self._lay_out(close)
        wanted = self.start.findData(hub.session.setting.device)
        self.start.setCurrentIndex(max(wanted, 0))
        self.start.currentIndexChanged.connect(self._begin)
        self._begin()

    def _lay_out(self, close: QPushButton) -> None:
        form = QFormLayout()
        form.addRow(_("Begin with"), self.start)
        form.addRow(_("Name"), self.name)
        form.addRow("", self._wrong["name"])
        form.addRow(_("Title"), self.title)
        form.addRow("", self._wrong["title"])
        hint = QLabel(
            _(
                "Dense rates, a multiply-add counts as 2 FLOP, GB = 1e9 and GiB = 2³⁰ bytes. Every "
                "figure that is changed needs the source in which it was read."
            )
        )
        hint.setWordWrap(True)
        set_role(hint, "small")
        buttons = QHBoxLayout()
        buttons.addWidget(self.problem, 1)
        buttons.addWidget(close)
        buttons.addWidget(self.save)
        layout = QVBoxLayout(self)
        layout.addLayout(form)
        layout.addWidget(hint)
        layout.addWidget(self.area, 1)
        layout.addLayout(buttons)
        em = self.fontMetrics().horizontalAdvance("m")
        self.resize(62 * em, 50 * em)

    def save_to(self, path: Path) -> bool:
        """Save the profile and use it in the session; whether that worked."""
        try:
            profile = self.draft.save(path)
        except CostLabError as error:
            self.problem.setText(str(error))
            return False
        path = path.resolve()
        own_devices.remember(path)
        self.hub.workspace.forget_machines()
        self.hub.change(_("use {device}").format(device=profile.title), device=str(path))
        self.hub.data_changed.emit("devices")
        self.accept()
        return True

    def edit(self, name: str, field: str, text: str) -> None:
        """Change the text or the source of a figure."""
        self._change(self.draft.with_figure(name, **{field: text}))

    def _begin(self) -> None:
        """Start over with a copy of the chosen profile."""
        try:
            self.draft = Draft.of(load_profile(self.start.currentData()))
        except CostLabError as error:
            self.problem.setText(str(error))
            return
        canvas = QWidget()
        canvas.setObjectName("canvas")
        grid = QGridLayout(canvas)
        grid.setColumnStretch(1, 2)
        grid.setColumnStretch(2, 3)
        self.rows = {}
        for figure in self.draft.figures:
            row = FigureRow(figure, grid, canvas)
            row.edited.connect(self.edit)
            self.rows[figure.name] = row
        grid.setRowStretch(grid.rowCount(), 1)
        self.area.setWidget(canvas)
        self.name.setText(self.draft.name)
        self.title.setText(self.draft.title)
        self._change(self.draft)

    def _change(self, draft: Draft) -> None:
        self.draft = draft
        problems = draft.problems()
        for figure in draft.figures:
            self.rows[figure.name].show_figure(figure, problems.get(figure.name, ""))
        for name, line in self._wrong.items():
            line.say(problems.get(name, ""))
        self.save.setEnabled(not problems)
        self.problem.setText("")

    def _ask_file(self) -> None:
        name, _kind = QFileDialog.getSaveFileName(
            self, _("Save device profile"), f"{self.draft.name}.toml",
            _("Device profiles (*.toml)"),
        )  # fmt: skip
        if name:
            path = Path(name)
            self.save_to(path if path.suffix == ".toml" else path.with_name(path.name + ".toml"))
