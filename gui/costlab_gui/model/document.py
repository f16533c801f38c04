"""The session being worked on: changes, one-step drags, undo and redo, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from costlab_gui.model.session import Session, Setting

_LIMIT = 500
_SETTING = frozenset(item.name for item in fields(Setting))
_SESSION = frozenset(item.name for item in fields(Session))
# Where the user looks is no change of the document and is not undone.
_VIEW = frozenset({"page", "selected"})

Listener = Callable[[frozenset[str]], None]


@dataclass(frozen=True, slots=True)
class _Step:
    before: Session
    text: str
    drag: int | None


class Document:
    """Holds a session; every change goes through :meth:`change`.

    A listener gets the names of the fields that changed, those of ``Session`` and of ``Setting``
    alike ("sizes", "mode", ...).
    """

    def __init__(self, session: Session | None = None) -> None:
        self._session = session or Session()
        self._undo: list[_Step] = []
        self._redo: list[_Step] = []
        self._listeners: list[Listener] = []
        self._saved = self._session

    @property
    def session(self) -> Session:
        return self._session

    @property
    def modified(self) -> bool:
        """Whether something but where the user looks changed since it was opened or saved."""
        return _looking_as(self._saved, self._session) != self._session

    def mark_saved(self) -> None:
        self._saved = self._session

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def change(self, text: str = "", drag: int | None = None, **changes: Any) -> None:
        """Change fields of the session or of its setting.

        Args:
            text: what is undone, for the menu ("set n to 4 096").
            drag: changes with the same number are one step of undo.
            changes: new values by field name; ``sizes`` is merged into the present sizes.

        Raises:
            TypeError: for an unknown field.
        """
        unknown = changes.keys() - _SETTING - _SESSION
        if unknown:
            raise TypeError(f"a session has no {', '.join(sorted(unknown))}")
        if "sizes" in changes:
            changes["sizes"] = {**self._session.sizes, **changes["sizes"]}
        inner = {name: value for name, value in changes.items() if name in _SETTING}
        outer = {name: value for name, value in changes.items() if name in _SESSION}
        setting = replace(outer.pop("setting", self._session.setting), **inner)
        changed = replace(self._session, setting=setting, **outer)
        if changed == self._session:
            return
        before = self._session
        if changes.keys() - _VIEW:
            continues = drag is not None and bool(self._undo) and self._undo[-1].drag == drag
            if not continues:
                self._undo = [*self._undo[-_LIMIT + 1 :], _Step(before, text, drag)]
            self._redo.clear()
        self._put(changed)

    def undo(self) -> None:
        """Go back one step, if there is one."""
        if self._undo:
            step = self._undo.pop()
            self._redo.append(_Step(self._session, step.text, None))
            self._put(_looking_as(step.before, self._session))

    def redo(self) -> None:
        """Take the last undo back, if nothing changed since."""
        if self._redo:
            step = self._redo.pop()
            self._undo.append(_Step(self._session, step.text, None))
            self._put(_looking_as(step.before, self._session))

    @property
    def undo_text(self) -> str | None:
        """What :meth:`undo` takes back; None if there is nothing."""
        return self._undo[-1].text if self._undo else None

    @property
    def redo_text(self) -> str | None:
        return self._redo[-1].text if self._redo else None

    def replace(self, session: Session) -> None:
        """Open another session: nothing of the old one can be undone."""
        self._undo.clear()
        self._redo.clear()
        self._saved = session
        self._put(session)

    def _put(self, session: Session) -> None:
        before, self._session = self._session, session
        changed = {name for name in _SESSION if getattr(before, name) != getattr(session, name)} | {
            name
            for name in _SETTING
            if getattr(before.setting, name) != getattr(session.setting, name)
        }
        if changed:
            for listener in tuple(self._listeners):
                listener(frozenset(changed))


def _looking_as(session: Session, now: Session) -> Session:
    return replace(session, page=now.page, selected=now.selected)
