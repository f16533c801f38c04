"""The colours of both themes, and which of them is on."""

from __future__ import annotations

from dataclasses import dataclass

from costlab.figures.palette import style


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as "#rrggbb". ``bad`` is for errors, ``on_accent`` for text on the accent.

    Properties are mixed from them: grounds of what the mouse is over (``hover``), what is held
    down (``pressed``), chosen rows (``selected``), every other row (``stripe``); the ``edge`` of
    small controls, and the ink of what cannot be used (``disabled``).
    """

    name: str
    window: str
    panel: str
    card: str
    line: str
    grid: str
    text: str
    dim: str
    accent: str
    on_accent: str
    good: str
    warn: str
    bad: str

    @property
    def dark(self) -> bool:
        return self.name == "dark"

    @property
    def hover(self) -> str:
        return mixed(self.card, self.text, 0.07)

    @property
    def pressed(self) -> str:
        return mixed(self.card, self.text, 0.14)

    @property
    def selected(self) -> str:
        return mixed(self.card, self.accent, 0.2)

    @property
    def stripe(self) -> str:
        return mixed(self.card, self.text, 0.03)

    @property
    def edge(self) -> str:
        return mixed(self.card, self.dim, 0.82)

    @property
    def disabled(self) -> str:
        return mixed(self.card, self.dim, 0.6)

    def curve(self, index: int) -> str:
        """Colour of the series with this ``colour`` index."""
        found = style(index)
        return found.dark if self.dark else found.light


def mixed(ground: str, over: str, share: float) -> str:
    """The colour of ``over`` laid on ``ground`` with the opacity ``share`` (0 to 1)."""
    pairs = ((int(ground[at : at + 2], 16), int(over[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in pairs)


DARK = Theme(
    name="dark",
    window="#14161a",
    panel="#1b1e24",
    card="#22262e",
    line="#2f343e",
    grid="#2a2f39",
    text="#e7e9ee",
    dim="#98a0ae",
    accent="#5b8cff",
    on_accent="#0d1220",
    good="#4cc38a",
    warn="#f0b429",
    bad="#ff7b72",
)
LIGHT = Theme(
    name="light",
    window="#f5f6f8",
    panel="#ffffff",
    card="#ffffff",
    line="#dfe3ea",
    grid="#e8ebf0",
    text="#171a21",
    dim="#667085",
    accent="#2f62e0",
    on_accent="#ffffff",
    good="#187a50",
    warn="#9c5c00",
    bad="#c22f2f",
)

_current = DARK


def current() -> Theme:
    """The theme that is on; ask again when ``Hub.themed`` is emitted."""
    return _current


def choose(theme: Theme) -> None:
    """Make ``theme`` the current one (``theme.apply`` also restyles the application)."""
    global _current
    _current = theme
