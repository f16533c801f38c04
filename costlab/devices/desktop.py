"""Whether a window can be shown on this machine. Qt is not imported."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

# Platforms of Qt that need no display.
_WINDOWLESS = frozenset({"offscreen", "minimal", "vnc", "eglfs", "linuxfb"})


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library that Qt loads, and the Debian package that has it."""

    file: str
    package: str


@dataclass(frozen=True, slots=True)
class Desktop:
    """Where a window would appear.

    Attributes:
        display: name of the display ("DISPLAY=:0", "offscreen"), "" on systems where it has
            none; None where there is no display.
        lacking: libraries that Qt would not find.
    """

    display: str | None
    lacking: tuple[Library, ...] = ()


def desktop(
    variables: Mapping[str, str] = os.environ,
    system: str = sys.platform,
    loads: Callable[[str], bool] | None = None,
) -> Desktop:
    """Look for a display and for what Qt needs to use it.

    Args:
        variables: of the environment.
        system: as ``sys.platform``.
        loads: whether a shared library can be loaded; tried if None.
    """
    if not system.startswith("linux"):
        return Desktop("")
    needed = [Library("libEGL.so.1", "libegl1")]
    platform = variables.get("QT_QPA_PLATFORM", "").partition(":")[0]
    display: str | None
    if platform in _WINDOWLESS:
        display = platform
    elif variables.get("WAYLAND_DISPLAY") and platform != "xcb":
        display = f"WAYLAND_DISPLAY={variables['WAYLAND_DISPLAY']}"
    elif variables.get("DISPLAY"):
        display = f"DISPLAY={variables['DISPLAY']}"
        needed.append(Library("libxcb-cursor.so.0", "libxcb-cursor0"))
    else:
        display = None
    there = loads or _loads
    return Desktop(display, tuple(one for one in needed if not there(one.file)))


def _loads(file: str) -> bool:
    try:
        ctypes.CDLL(file)
    except OSError:
        return False
    return True
