"""Opening and saving: sessions, reports, and what is dropped on the window."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.model import first_run, own_devices
from costlab_gui.model.messages import WARNING, Message
from costlab_gui.model.recovery import Autosave, Recovered, discard
from costlab_gui.model.session import Session
from costlab_gui.model.session_file import SUFFIX, load, save
from costlab_gui.settings import Settings

_AUTOSAVE_MS = 1500


class Files:
    """The file a session belongs to, if any, and every dialog about files.

    Dialogs are asked through methods that tests and the command line call with a path.
    """

    def __init__(self, hub: Hub, settings: Settings, window: QWidget) -> None:
        self.hub = hub
        self.path: Path | None = None
        self._settings = settings
        self._window = window
        self._autosave = Autosave()
        self._timer = QTimer(window)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_AUTOSAVE_MS)
        self._timer.timeout.connect(self.keep_copy)
        hub.changed.connect(lambda _changed: self._timer.start())
        hub.closing.connect(self._timer.stop)

    def show_title(self) -> None:
        """Put the session's name on the window; Qt marks "[*]" where something is not saved."""
        name = self.path.name.removesuffix(SUFFIX) if self.path else _("untitled")
        self._window.setWindowTitle(f"{name}[*] · CostLab")
        self._window.setWindowModified(self.hub.document.modified)

    def keep_copy(self) -> None:
        """Write the copy that is offered after a crash."""
        try:
            self._autosave.write(self.hub.session, self.path)
        except CostLabError as error:
            self.hub.tell(error)

    def new(self) -> None:
        """Begin with the example again."""
        if self.may_leave():
            self._show(first_run.example(self.hub.workspace), None)

    def open(self, path: Path | None = None) -> None:
        """Open a session, asking for the file unless it is given."""
        if path is None:
            path = self._ask_open(
                _("Open session"), _("Sessions (*{suffix} *.json)").format(suffix=SUFFIX)
            )
        if path is None or not self.may_leave():
            return
        try:
            session, missing = load(path)
        except CostLabError as error:
            self.hub.tell(error)
            return
        self._show(session, path)
        self._settings.add_recent(path)
        for text in missing:
            self.hub.tell(Message(text, WARNING))

    def save(self) -> bool:
        """Save to the session's file, or ask for one; whether it was saved."""
        return self.save_as(self.path) if self.path else self.save_as()

    def save_as(self, path: Path | None = None) -> bool:
        """Save to ``path``, asking for it unless it is given; whether it was saved."""
        if path is None:
            path = self._ask_save(
                _("Save session"),
                f"costlab{SUFFIX}",
                _("Sessions (*{suffix})").format(suffix=SUFFIX),
            )
        if path is None:
            return False
        if path.suffix != ".json":
            path = path.with_name(path.name + SUFFIX)
        try:
            save(self.hub.session, path)
        except CostLabError as error:
            self.hub.tell(error)
            return False
        self.path = path
        self.hub.document.mark_saved()
        self._settings.add_recent(path)
        self._moved()
        self.hub.tell(_("saved {path}").format(path=path))
        return True

    def write_report(self, path: Path | None = None) -> None:
        """Have the report of what is shown written, asking for the file unless it is given."""
        if path is None:
            path = self._ask_save(
                _("Save report"),
                "report.html",
                "HTML (*.html);;Markdown (*.md);;CSV (*.csv);;JSON (*.json)",
            )
        if path is None:
            return
        session, workspace, target = self.hub.session, self.hub.workspace.apart(), path
        points = self.hub.runs.points()

        def write() -> Path:
            from costlab_gui.model.report import write_report

            return write_report(session, workspace, points, target)

        self.hub.worker.do(
            write,
            lambda written: self.hub.tell(_("wrote {path}").format(path=written)),
        )

    def import_runs(self, path: Path | None = None) -> None:
        """Import measurements from a file, asking for it unless it is given."""
        if path is None:
            path = self._ask_open(
                _("Import measurements"), _("Measurements (*.json *.jsonl *.sqlite)")
            )
        if path is not None:
            from costlab_gui.tasks import import_file

            import_file(self.hub, path)

    def recover(self, item: Recovered) -> None:
        """Go on with a session that a crash interrupted."""
        self._show(item.session, Path(item.path) if item.path else None, saved=False)
        discard(item)

    def take(self, name: str) -> None:
        """Open what was dropped or named on the command line, whatever kind of file it is."""
        from costlab_gui.model.kinds import MODULE, PROFILE, RUN, SESSION, TRACE, kind_of

        path = Path(name)
        try:
            kind = kind_of(path)
        except CostLabError as error:
            self.hub.tell(error)
            return
        if kind == SESSION:
            self.open(path)
        elif kind == PROFILE:
            own_devices.remember(path)
            self.hub.change(_("choose {name}").format(name=path.name), device=str(path.resolve()))
        elif kind == RUN:
            self.hub.asked.emit("import", path)
        elif kind == TRACE:
            self.hub.change(page="monitor")
            self.hub.flush()
            self.hub.asked.emit("open trace", path)
        elif kind == MODULE:
            self.hub.asked.emit("open own", path)

    def may_leave(self) -> bool:
        """Whether the session may be left: asks only where a file would stay behind."""
        if self.path is None or not self.hub.document.modified:
            return True
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self._window,
            _("Save changes?"),
            _("{name} has changes that are not saved.").format(name=self.path.name),
            buttons.Save | buttons.Discard | buttons.Cancel,
            buttons.Save,
        )
        if answer == buttons.Save:
            return self.save()
        return bool(answer == buttons.Discard)

    def close(self) -> None:
        """The app ends: an untitled session is shown again at the next start."""
        self._timer.stop()
        if self.path is None:
            first_run.keep(self.hub.session)
        self._autosave.end()

    def _show(self, session: Session, path: Path | None, saved: bool = True) -> None:
        self.path = path
        if saved:
            self.hub.document.replace(session)
        else:
            changes = {item.name: getattr(session, item.name) for item in fields(session)}
            self.hub.document.change(_("recover"), None, **changes)
        self.hub.flush()
        self._moved()

    def _moved(self) -> None:
        """The session belongs to another file: the title and the copy have to say so."""
        self.show_title()
        self._timer.start()

    def _ask_open(self, title: str, kinds: str) -> Path | None:
        name, _kind = QFileDialog.getOpenFileName(self._window, title, self._folder(), kinds)
        return Path(name) if name else None

    def _ask_save(self, title: str, name: str, kinds: str) -> Path | None:
        start = str(Path(self._folder()) / name)
        chosen, _kind = QFileDialog.getSaveFileName(self._window, title, start, kinds)
        return Path(chosen) if chosen else None

    def _folder(self) -> str:
        return str(self.path.parent if self.path else Path.cwd())
