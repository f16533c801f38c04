"""Opens a user's factory or a Hugging Face config: choose, agree to run it, derive, done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from costlab.errors import CostLabError
from costlab.formulas.record import Derivation
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.model import opened
from costlab_gui.model.jobs import CANCELLED, DONE
from costlab_gui.theme.stylesheet import set_role

if TYPE_CHECKING:
    from costlab_gui.widgets.own_modules import OwnModules


class OpenOwnDialog(QDialog):
    """Adds a module to the session once its formulas are there.

    Args:
        hub: of the window.
        own: derives, and remembers what was agreed to.
        path: a file to begin with.
    """

    def __init__(
        self, hub: Hub, own: OwnModules, path: Path | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._hub = hub
        self._own = own
        self._sha256 = self._read_text = ""
        self._process: JobProcess | None = None
        self.setWindowTitle(_("Open your own module"))
        self.setModal(False)
        self.file = QLineEdit()
        self.file.setPlaceholderText(_("FILE.py or a Hugging Face config.json"))
        self.file.setAccessibleName(_("File"))
        self.file.editingFinished.connect(self._read)
        browse = QPushButton(_("Browse …"))
        browse.setAutoDefault(False)
        browse.clicked.connect(self._browse)
        self.about = QLabel()
        self.about.setWordWrap(True)
        set_role(self.about, "dim")
        self.factories = QListWidget()
        self.factories.setAccessibleName(_("Factories in the file"))
        self.factories.setMaximumHeight(7 * self.fontMetrics().lineSpacing())
        self.agree = QCheckBox()
        self.agree.toggled.connect(self._show_state)
        self.digits = QLabel()
        self.digits.setWordWrap(True)
        self.digits.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_role(self.digits, "mono")
        self.progress = QProgressBar()
        self.progress.setRange(0, 0)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName(_("Progress"))
        self.status = QLabel()
        self.status.setWordWrap(True)
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setAccessibleName(_("Details"))
        self.more = QPushButton(_("Details"))
        self.more.setCheckable(True)
        self.more.setAutoDefault(False)
        self.more.toggled.connect(self.details.setVisible)
        self.derive = QPushButton(_("Derive"))
        self.derive.setDefault(True)
        set_role(self.derive, "primary")
        self.derive.clicked.connect(self._derive)
        self.cancel = QPushButton(_("Cancel"))
        self.cancel.setAutoDefault(False)
        self.cancel.clicked.connect(self.reject)
        self._lay_out(browse)
        self._read(path)

    def _lay_out(self, browse: QPushButton) -> None:
        top = QHBoxLayout()
        top.addWidget(self.file, 1)
        top.addWidget(browse)
        bottom = QHBoxLayout()
        bottom.addWidget(self.more)
        bottom.addStretch()
        bottom.addWidget(self.cancel)
        bottom.addWidget(self.derive)
        layout = QVBoxLayout(self)
        layout.addLayout(top)
        for widget in (self.about, self.factories, self.agree, self.digits, self.progress,
                       self.status, self.details):  # fmt: skip
            layout.addWidget(widget)
        layout.addStretch()
        layout.addLayout(bottom)
        self.setMinimumWidth(44 * self.fontMetrics().horizontalAdvance("m"))

    def reject(self) -> None:
        """Cancel the derivation if one runs; else close."""
        if self._process is not None and not self._process.job.ended:
            self._process.cancel()
            return
        super().reject()

    def _browse(self) -> None:
        name, _kind = QFileDialog.getOpenFileName(
            self, self.windowTitle(), str(Path(self.file.text()).parent),
            _("Modules and configs (*.py *.json);;All files (*)"),
        )  # fmt: skip
        if name:
            self._read(Path(name))

    def _read(self, path: Path | None = None) -> None:
        """Look into the file without running it."""
        if path is not None:
            self.file.setText(str(path))
        elif self.file.text().strip() == self._read_text:
            return
        self._read_text = self.file.text().strip()
        self.factories.clear()
        self.agree.setChecked(False)
        self._sha256 = ""
        self._say("")
        if self._read_text:
            try:
                self._offer(Path(self._read_text).expanduser())
            except CostLabError as error:
                self._say(str(error), "error")
        self._show_state()

    def _offer(self, path: Path) -> None:
        if path.suffix == ".py":
            for factory in opened.factories(path):
                item = QListWidgetItem(factory.text)
                item.setToolTip(factory.doc)
                item.setData(Qt.ItemDataRole.UserRole, factory.name)
                self.factories.addItem(item)
            self.factories.setCurrentRow(0)
            self.about.setText(_("Choose the function that builds the module:"))
            self.agree.setText(_("Run the code of {name} on this machine").format(name=path.name))
        else:
            self.about.setText(
                _(
                    "{model}. Widths stay as they are; b, n and a number of equal layers become "
                    "sliders."
                ).format(model=opened.config_text(path))
            )
        self._sha256 = opened.fingerprint(path)
        self.digits.setText(f"SHA-256 {self._sha256[:32]}\n        {self._sha256[32:]}")

    def _show_state(self) -> None:
        """Show what can be done now."""
        known = bool(self._sha256)
        busy = self._process is not None and not self._process.job.ended
        code = self.factories.count() > 0
        self.about.setVisible(known)
        self.factories.setVisible(known and code)
        self.agree.setVisible(known and code and not self._own.agreed(self._sha256))
        self.digits.setVisible(known and code)
        agreed = not code or self._own.agreed(self._sha256) or self.agree.isChecked()
        self.derive.setEnabled(known and agreed and not busy)
        for widget in (self.file, self.factories, self.agree):
            widget.setEnabled(not busy)
        self.progress.setVisible(busy)
        self.cancel.setText(_("Cancel derivation") if busy else _("Close"))

    def _derive(self) -> None:
        item = self.factories.currentItem()
        name = item.data(Qt.ItemDataRole.UserRole) if item is not None else ""
        target = opened.target_of(Path(self._read_text), name)
        sha256 = self._sha256
        self._own.agree(sha256)
        workspace = self._hub.workspace
        workspace.forget(target)
        key = workspace.key(target, self._hub.session.setting)
        try:
            process = self._own.derive(key, sha256)
        except CostLabError as error:
            self._say(str(error), "error")
            return
        self._process = process
        self._say(_("starting a process for it"))
        process.changed.connect(lambda: self._follow(process))
        process.ended.connect(lambda: self._end(process, target, sha256))
        self._show_state()

    def _follow(self, process: JobProcess) -> None:
        if not process.job.ended:
            self._say(process.job.status())

    def _end(self, process: JobProcess, target: str, sha256: str) -> None:
        job = process.job
        answer = opened.result(job.lines)
        self._show_state()
        if job.state == DONE and answer is not None and isinstance(answer[0], Derivation):
            self._own.add(target, sha256)
            self.accept()
        elif job.state == CANCELLED:
            self._say(_("cancelled"))
        else:
            found, details = answer or (job.reason, "")
            self._say(str(found), "error")
            self.details.setPlainText("\n".join(part for part in (details, job.errors) if part))
            self.more.setVisible(bool(self.details.toPlainText()))

    def _say(self, text: str, role: str = "dim") -> None:
        self.status.setText(text)
        self.status.setVisible(bool(text))
        set_role(self.status, role)
        self.more.setChecked(False)
        self.more.hide()
        self.details.hide()
