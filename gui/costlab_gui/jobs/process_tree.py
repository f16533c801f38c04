"""Ends a process with everything that it started."""

from __future__ import annotations

import contextlib

import psutil


def kill_tree(pid: int) -> None:
    """Kill a process and its descendants, those that may be there still."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
