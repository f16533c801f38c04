"""What the app tells the user: the latest in the status line, all of them in a list."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from costlab.errors import CostLabError

INFO, WARNING, ERROR = "info", "warning", "error"
_KEPT = 200


@dataclass(frozen=True, slots=True)
class Message:
    """One line, and what stands behind "Details"."""

    text: str
    level: str = INFO
    details: str = ""
    at: datetime = field(default_factory=datetime.now)

    @classmethod
    def of(cls, error: CostLabError) -> Message:
        return cls(str(error), ERROR)


class Messages:
    """The messages so far, oldest first."""

    def __init__(self) -> None:
        self._all: list[Message] = []

    def add(self, message: Message | CostLabError | str) -> Message:
        """Keep a message; returns it as one."""
        if isinstance(message, str):
            message = Message(message)
        elif isinstance(message, CostLabError):
            message = Message.of(message)
        self._all = [*self._all[-_KEPT + 1 :], message]
        return message

    @property
    def all(self) -> tuple[Message, ...]:
        return tuple(self._all)
