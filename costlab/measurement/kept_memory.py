"""Freed memory stays with the process, so that repeated calls do not wait for the system's pages.

By default the C library gives large blocks back at every free, and the end of its heap by chance.
The next call then touches fresh pages, which on a rented machine takes longer than the work:
the same pass is up to three times slower in one process than in the next.
"""

from __future__ import annotations

import sys

from costlab.measurement.c_library import c_function

if sys.platform != "win32":
    import resource

# malloc.h of glibc; a threshold of -1 stands for none (mallopt(3)).
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
# A freed block is a little too small for the same aligned request again (glibc before 2.38), so
# that the heap grows for some calls: to eight blocks where a pass takes one at a time.
_GROWTH = 8
# Pages that a call may take fresh and still be said to find its memory.
_FEW_PAGES = 8
_CALM_CALLS, _MOST_CALLS = 3, 40


def keep_freed_memory(grown_bytes: int = 0, available_bytes: int | None = None) -> bool:
    """Ask this process's C library to keep what is freed, for good.

    Args:
        grown_bytes: by how much one call made the process grow.
        available_bytes: what the system has left; None where nothing is known of it.

    Returns:
        Whether it will: only glibc can be asked, and the heap needs room to settle.
    """
    if available_bytes is not None and _GROWTH * grown_bytes > available_bytes:
        return False
    mallopt = c_function("mallopt")
    if mallopt is None:
        return False
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, -1))


class Heap:
    """Whether calls still take pages fresh from the system: told by the process's page faults."""

    def __init__(self) -> None:
        self._calls = self._calm = 0
        self._faults = _page_faults()

    def has_settled(self) -> bool:
        """Whether the last calls found their memory, or never will. Ask after each call."""
        faults = _page_faults()
        self._calm = self._calm + 1 if faults - self._faults <= _FEW_PAGES else 0
        self._faults = faults
        self._calls += 1
        return self._calm >= _CALM_CALLS or self._calls >= _MOST_CALLS


def _page_faults() -> int:
    if sys.platform == "win32":
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
