"""Keeps the formulas of the user's own modules up to date with the session and their files.

Derives what the session needs and nobody derived yet, in a child process; asks, in a bar over the
window, before it runs code that was not agreed to.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from costlab.errors import CostLabError, DerivationError, InputError
from costlab.formulas.record import Derivation
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.model import opened
from costlab_gui.model.catalogue import toggled
from costlab_gui.model.jobs import CANCELLED
from costlab_gui.model.messages import ERROR, Message
from costlab_gui.model.session import Session
from costlab_gui.model.workspace import Key
from costlab_gui.widgets.consent_bar import ConsentBar

if TYPE_CHECKING:
    from costlab_gui.widgets.open_own_dialog import OpenOwnDialog

ShowBar = Callable[[QWidget], None]


class OwnModules(QObject):
    """Listens to the hub.

    Args:
        hub: of the window.
        show_bar: puts a bar over the window.
        window: parent of the dialog.
    """

    def __init__(self, hub: Hub, show_bar: ShowBar, window: QWidget) -> None:
        super().__init__(window)
        self._hub = hub
        self._show_bar = show_bar
        self._window = window
        self._refused: set[tuple[str, str]] = set()
        self._stamps: dict[Path, tuple[int, int, str]] = {}
        self._running: dict[Key, JobProcess] = {}
        self._bars: dict[str, ConsentBar] = {}
        hub.changed.connect(self._look)
        hub.asked.connect(self._take_asked)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self._take_state)
        self._look()

    @property
    def bars(self) -> tuple[ConsentBar, ...]:
        """The questions that are open."""
        return tuple(self._bars.values())

    def agreed(self, sha256: str) -> bool:
        """Whether the user let the code with this hash run since the app was started."""
        return sha256 in self._hub.agreed

    def agree(self, sha256: str) -> None:
        """Let the code with this hash run until the app is left."""
        self._hub.agreed.add(sha256)

    def open(self, path: Path | None = None) -> OpenOwnDialog:
        """Show the dialog that opens a module or a config."""
        from costlab_gui.widgets.open_own_dialog import OpenOwnDialog

        dialog = OpenOwnDialog(self._hub, self, path, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.show()
        return dialog

    def add(self, target: str, sha256: str) -> None:
        """Put an opened module on the plot."""
        session = self._hub.session
        changes = {} if target in session.programs else toggled(session, target)
        changes["opened"] = {**session.opened, target: sha256}
        changes["selected"] = target
        title = self._hub.workspace.title(target)
        self._hub.change(_("open {name}").format(name=title), **changes)

    def derive(self, key: Key, sha256: str) -> JobProcess:
        """Derive ``key`` from the file with this hash; the workspace gets what is found.

        Raises:
            CostLabError: if the file cannot be read.
        """
        if key in self._running:
            return self._running[key]
        process = self._hub.jobs.start(opened.command(key, sha256), opened.program())
        self._running[key] = process
        process.ended.connect(lambda: self._end(key, process))
        return process

    def check_files(self) -> None:
        """Ask about files that have changed since their formulas were derived."""
        for target in self._own(self._hub.session):
            recorded = self._hub.session.opened.get(target, "")
            found = self._fingerprint(target)
            if found is not None and found != recorded:
                self._ask(target, found, changed=bool(recorded))

    def _look(self, _changed: object = None) -> None:
        """Derive what the session shows and nobody has derived."""
        session, workspace = self._hub.session, self._hub.workspace
        for target in [one for one in self._bars if one not in session.programs]:
            self._bars.pop(target).deleteLater()
        settings = [one for one in (session.setting, session.reference) if one is not None]
        for target in self._own(session):
            keys = dict.fromkeys(workspace.key(target, setting) for setting in settings)
            for key in keys:
                if not workspace.has(key) and key not in self._running:
                    self._want(key)

    def _want(self, key: Key) -> None:
        recorded = self._hub.session.opened.get(key.target, "")
        found = self._fingerprint(key.target)
        if found is None:
            self._put(
                key, InputError(_("the file is missing"), given=str(opened.path_of(key.target)))
            )
        elif found != recorded:
            self._ask(key.target, found, changed=bool(recorded))
        elif opened.runs_code(key.target) and not self.agreed(found):
            self._ask(key.target, found, changed=False)
        else:
            try:
                self.derive(key, found)
            except CostLabError as error:
                self._put(key, error)

    def _ask(self, target: str, sha256: str, changed: bool) -> None:
        """Ask once for each content of a file, without standing in the way."""
        if (target, sha256) in self._refused:
            return
        bar = self._bars.get(target)
        if bar is not None:
            if bar.sha256 == sha256:
                return
            bar.deleteLater()
        bar = ConsentBar(target, sha256, changed)
        bar.accepted.connect(lambda: self._accept(target, sha256))
        bar.refused.connect(lambda: self._refuse(target, sha256))
        self._bars[target] = bar
        self._show_bar(bar)

    def _accept(self, target: str, sha256: str) -> None:
        del self._bars[target]
        self.agree(sha256)
        self._hub.workspace.forget(target)
        session = self._hub.session
        self._hub.change(
            _("derive {name} again").format(name=self._hub.workspace.title(target)),
            opened={**session.opened, target: sha256},
        )
        self._look()

    def _refuse(self, target: str, sha256: str) -> None:
        del self._bars[target]
        self._refused.add((target, sha256))

    def _end(self, key: Key, process: JobProcess) -> None:
        del self._running[key]
        job = process.job
        if job.state == CANCELLED:
            self._put(
                key,
                DerivationError(
                    _("the derivation was cancelled"), advice=_("open it again to derive it")
                ),
            )
            return
        answer = opened.result(job.lines)
        if answer is None:
            answer = DerivationError(job.reason), ""
        found, details = answer
        if not isinstance(found, Derivation):
            details = "\n".join(part for part in (details, job.errors) if part)
            self._hub.tell(Message(str(found), ERROR, details))
        self._put(key, found)

    def _put(self, key: Key, found: Derivation | CostLabError) -> None:
        self._hub.workspace.put(key, found)
        self._hub.data_changed.emit("formulas")

    def _fingerprint(self, target: str) -> str | None:
        """SHA-256 of the module's file, read again only if it was written; None if it is gone."""
        path = opened.path_of(target)
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            known = self._stamps.get(path)
            if known is None or known[:2] != stamp:
                known = self._stamps[path] = (*stamp, opened.fingerprint(path))
        except (OSError, CostLabError):
            return None
        return known[2]

    @staticmethod
    def _own(session: Session) -> list[str]:
        return [target for target in session.programs if opened.is_own(target)]

    def _take_asked(self, what: str, path: object) -> None:
        if what == "open own":
            self.open(path if isinstance(path, Path) else None)

    def _take_state(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self.check_files()
