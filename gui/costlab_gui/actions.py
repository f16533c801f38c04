"""Every action of the window: menus, shortcuts and the command palette show the same list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Union

from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu

from costlab.i18n import _
from costlab_gui.model.command_line import command_line
from costlab_gui.model.session import MODES
from costlab_gui.pages.registry import titles
from costlab_gui.settings import THEMES
from costlab_gui.theming import use_theme
from costlab_gui.widgets.command_palette import CommandPalette

if TYPE_CHECKING:
    from costlab_gui.window import MainWindow

Keys = Union[str, QKeySequence.StandardKey, None]
_STANDARD = QKeySequence.StandardKey


class Actions:
    """Builds the menu bar of ``window`` and keeps what can be undone up to date."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.hub = window.hub
        self.all: list[QAction] = []
        self._file_menu()
        self._edit_menu()
        self._view_menu()
        self._model_menu()
        self._help_menu()
        self.hub.changed.connect(lambda _changed: self._show_undo())
        self._show_undo()

    def _file_menu(self) -> None:
        files = self.window.files
        menu = self._menu(_("&File"))
        self._add(menu, _("&New session"), files.new, _STANDARD.New)
        self._add(menu, _("&Open session…"), lambda: files.open(), _STANDARD.Open)
        recent = menu.addMenu(_("Open &recent"))
        recent.aboutToShow.connect(lambda: self._show_recent(recent))
        self._add(menu, _("&Save session"), files.save, _STANDARD.Save)
        self._add(menu, _("Save session &as…"), lambda: files.save_as(), "Ctrl+Shift+S")
        menu.addSeparator()
        self._ask(menu, _("&Import measurements…"), "import")
        self._add(menu, _("&Report…"), lambda: files.write_report(), "Ctrl+R")
        self._ask(menu, _("&Export plot…"), "export plot", "Ctrl+Shift+E")
        menu.addSeparator()
        self._add(menu, _("&Quit"), self.window.close, _STANDARD.Quit)

    def _edit_menu(self) -> None:
        menu = self._menu(_("&Edit"))
        self.undo = self._add(menu, _("&Undo"), self.hub.document.undo, _STANDARD.Undo)
        self.redo = self._add(menu, _("&Redo"), self.hub.document.redo, "Ctrl+Shift+Z")
        menu.addSeparator()
        self._ask(menu, _("&Copy plot"), "copy plot", "Ctrl+Shift+C")
        self._add(menu, _("Copy as command &line"), self.copy_command, "Ctrl+Shift+L")
        menu.addSeparator()
        self._add(menu, _("&Find an architecture"), self._find, _STANDARD.Find)
        self._add(menu, _("Command &palette…"), self.open_palette, "Ctrl+K")

    def _view_menu(self) -> None:
        menu = self._menu(_("&View"))
        for number, (key, title) in enumerate(titles().items(), start=1):
            self._add(menu, title, partial(self.window.open_page, key), f"Ctrl+{number}")
        menu.addSeparator()
        self._ask(menu, _("&Fit"), "fit", "F")
        self._toggle(menu, _("Logarithmic &x axis"), "log_x")
        self._toggle(menu, _("Logarithmic &y axis"), "log_y")
        self._toggle(menu, _("&Link the panels' zoom"), "linked")
        self._add(menu, _("Keep as &B to compare with"), self._keep_reference, "Ctrl+B")
        self._add(menu, _("Drop B"), lambda: self.hub.change(_("drop B"), reference=None))
        menu.addSeparator()
        window = self.window
        self._add(menu, _("&Left column"), lambda: window.toggle_column(0), "F7")
        self._add(menu, _("&Right column"), lambda: window.toggle_column(1), "F8")
        self._add(menu, _("Full screen"), self._full_screen, _STANDARD.FullScreen)
        themes = menu.addMenu(_("&Theme"))
        group = QActionGroup(themes)
        words = {"system": _("Follow the system"), "dark": _("Dark"), "light": _("Light")}
        for name in THEMES:
            action = self._add(themes, words[name], partial(self._use_theme, name))
            action.setCheckable(True)
            action.setChecked(window.settings.theme == name)
            group.addAction(action)

    def _model_menu(self) -> None:
        menu = self._menu(_("&Model"))
        self._ask(menu, _("&Open your own module or config…"), "open own", "Ctrl+Shift+O")
        self._ask(menu, _("&Devices…"), "devices")
        menu.addSeparator()
        words = {
            "forward": _("Forward"), "train": _("Train"), "prefill": _("Prefill"),
            "decode": _("Decode"),
        }  # fmt: skip
        for mode in MODES:
            text = _("Mode: {mode}").format(mode=words[mode])
            self._add(menu, text, partial(self.hub.change, _("choose mode"), mode=mode))
        menu.addSeparator()
        self._add(menu, _("&Measure…"), lambda: self.window.open_page("measure"), "Ctrl+M")

    def _help_menu(self) -> None:
        menu = self._menu(_("&Help"))
        self._add(menu, _("&Keyboard shortcuts"), self._show_shortcuts, "F1")
        self._add(menu, _("&Messages"), self._show_messages)
        self._add(menu, _("&About CostLab"), self._show_about)

    def open_palette(self) -> None:
        """Show the palette in the upper middle of the window."""
        palette = CommandPalette(self.all, self.window)
        corner = self.window.geometry().center() - palette.rect().center()
        palette.move(corner.x(), self.window.geometry().top() + palette.height() // 4)
        palette.open()

    def copy_command(self) -> None:
        """Put the command that shows this view on the clipboard."""
        text = command_line(self.hub.session, self.hub.workspace)
        QGuiApplication.clipboard().setText(text)
        self.hub.tell(_("copied: {text}").format(text=text))

    def _find(self) -> None:
        self.window.left.show()
        self.window.architectures.search.setFocus()

    def _menu(self, title: str) -> QMenu:
        return self.window.menuBar().addMenu(title)

    def _add(self, menu: QMenu, text: str, run: Callable[[], object], keys: Keys = None) -> QAction:
        action = menu.addAction(text)
        action.triggered.connect(lambda _checked=False: run())
        if keys is not None:
            action.setShortcut(QKeySequence(keys))
        self.all.append(action)
        return action

    def _ask(self, menu: QMenu, text: str, what: str, keys: Keys = None) -> None:
        self._add(menu, text, lambda: self.hub.asked.emit(what, None), keys)

    def _toggle(self, menu: QMenu, text: str, field: str) -> None:
        action = self._add(
            menu,
            text,
            lambda: self.hub.change(
                text.replace("&", "").lower(), **{field: not getattr(self.hub.session, field)}
            ),
        )
        action.setCheckable(True)

        def show(_changed: object = None) -> None:
            action.setChecked(bool(getattr(self.hub.session, field)))

        self.hub.changed.connect(show)
        show()

    def _show_recent(self, menu: QMenu) -> None:
        menu.clear()
        for path in self.window.settings.recent:
            action = menu.addAction(str(path))
            action.triggered.connect(lambda _checked=False, path=path: self.window.files.open(path))
        if menu.isEmpty():
            menu.addAction(_("nothing yet")).setEnabled(False)

    def _show_undo(self) -> None:
        document = self.hub.document
        for action, word, text in (
            (self.undo, _("&Undo"), document.undo_text),
            (self.redo, _("&Redo"), document.redo_text),
        ):
            action.setEnabled(text is not None)
            action.setText(f"{word} {text}" if text else word)

    def _keep_reference(self) -> None:
        self.hub.change(_("keep B"), reference=self.hub.session.setting)
        self.hub.tell(_("B is kept: change anything to compare with it"))

    def _full_screen(self) -> None:
        window = self.window
        window.showNormal() if window.isFullScreen() else window.showFullScreen()

    def _use_theme(self, name: str) -> None:
        self.window.settings.theme = name
        use_theme(name, self.hub)

    def _show_shortcuts(self) -> None:
        from costlab_gui.widgets.text_dialog import show_text

        lines = [
            f"{action.shortcut().toString():<16}{action.text().replace('&', '')}"
            for action in self.all
            if not action.shortcut().isEmpty()
        ]
        show_text(_("Keyboard shortcuts"), "\n".join(lines), self.window)

    def _show_messages(self) -> None:
        from costlab_gui.widgets.text_dialog import show_text

        lines = [
            f"{message.at:%H:%M:%S}  {message.text}"
            + (f"\n{message.details}" if message.details else "")
            for message in self.hub.messages.all
        ]
        show_text(_("Messages"), "\n".join(lines) or _("nothing yet"), self.window)

    def _show_about(self) -> None:
        from costlab_gui.about import about_text
        from costlab_gui.widgets.text_dialog import show_text

        show_text(_("About CostLab"), about_text(), self.window)
