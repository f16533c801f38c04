"""What belongs to the user and not to a session: window geometry, recent files, the theme."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings

from costlab.store.home import home

_VERSION = 1
_RECENT = 10
SYSTEM = "system"
THEMES = (SYSTEM, "dark", "light")


class Settings:
    """Typed access to one ini file in CostLab's data folder."""

    def __init__(self) -> None:
        self._file = QSettings(str(home() / "app.ini"), QSettings.Format.IniFormat)

    @property
    def theme(self) -> str:
        """One of ``THEMES``."""
        found = str(self._file.value("theme", SYSTEM, type=str))
        return found if found in THEMES else SYSTEM

    @theme.setter
    def theme(self, value: str) -> None:
        self._file.setValue("theme", value)

    @property
    def geometry(self) -> QByteArray | None:
        """What ``saveGeometry`` of this version's window gave; None if there is none."""
        return self._bytes("geometry")

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._file.setValue(f"window{_VERSION}/geometry", value)

    @property
    def columns(self) -> QByteArray | None:
        """What ``saveState`` of the columns gave."""
        return self._bytes("columns")

    @columns.setter
    def columns(self, value: QByteArray) -> None:
        self._file.setValue(f"window{_VERSION}/columns", value)

    @property
    def recent(self) -> list[Path]:
        """Session files opened or saved lately that are still there, newest first."""
        found = self._file.value("recent", [])
        names = found if isinstance(found, list) else [found]
        return [path for name in names if (path := Path(str(name))).is_file()]

    def add_recent(self, path: Path) -> None:
        """Put a session file first."""
        path = path.resolve()
        kept = [str(path), *(str(p) for p in self.recent if p != path)]
        self._file.setValue("recent", kept[:_RECENT])

    def save(self) -> None:
        """Write to disk now."""
        self._file.sync()

    def _bytes(self, name: str) -> QByteArray | None:
        found = self._file.value(f"window{_VERSION}/{name}")
        return found if isinstance(found, QByteArray) and not found.isEmpty() else None
