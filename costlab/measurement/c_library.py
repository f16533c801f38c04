"""Functions of the system's C library, where it has them."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


def c_function(name: str) -> Callable[..., int] | None:
    """The function ``name`` of the C library of Linux; None elsewhere, or where it has none."""
    return getattr(_library(), name, None) if sys.platform == "linux" else None


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)
