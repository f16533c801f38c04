"""The one translation function for every string a user reads."""

from __future__ import annotations

import gettext
from functools import lru_cache
from pathlib import Path

_DOMAIN = "costlab"


@lru_cache(maxsize=1)
def _catalogue() -> gettext.NullTranslations:
    return gettext.translation(_DOMAIN, localedir=str(Path(__file__).parent), fallback=True)


def _(text: str) -> str:
    """Return ``text`` in the user's language (English where there is no catalogue)."""
    return _catalogue().gettext(text)
