"""The C compiler of this machine, if there is one."""

from __future__ import annotations

import shutil
import sys


def compiler() -> str | None:
    """Path of a C compiler; None where there is none, or where libraries are found another way."""
    if not sys.platform.startswith("linux"):
        return None
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
