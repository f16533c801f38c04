"""Freed memory that stays, told by the page faults of real allocations in fresh processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from costlab.measurement.kept_memory import keep_freed_memory

_CALLS = """
import ctypes, resource, sys
from costlab.measurement.kept_memory import Heap, keep_freed_memory
assert sys.argv[1] == "default" or keep_freed_memory()

libc, block, size = ctypes.CDLL(None), ctypes.c_void_p(), ctypes.c_size_t(int(sys.argv[2]))

def call():
    # As torch's allocator does on a CPU.
    libc.posix_memalign(ctypes.byref(block), ctypes.c_size_t(64), size)
    ctypes.memset(block, 1, size.value)
    libc.free(block)

heap, calls = Heap(), 0
while True:
    call()
    calls += 1
    if heap.has_settled():
        break
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    call()
print(calls, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
_MIB = 2**20


def _settled(kept: str, mib: int) -> tuple[int, int]:
    """Calls until the heap was said to have settled, and page faults of ten more."""
    arguments = [sys.executable, "-c", _CALLS, kept, str(mib * _MIB)]
    calls, faults = subprocess.run(
        arguments, capture_output=True, check=True, text=True
    ).stdout.split()
    return int(calls), int(faults)


def test_a_block_beyond_glibcs_limit_is_fresh_in_every_call_unless_it_is_kept() -> None:
    """Blocks over 32 MiB go back to the system (mallopt(3)); pages are of 2 MiB at most."""
    calls, faults = _settled("default", 34)
    assert calls == 40
    assert faults >= 10 * 34 / 2

    calls, faults = _settled("kept", 34)
    assert calls < 40
    assert faults <= 10


def test_memory_is_not_kept_where_the_heap_has_no_room_to_settle() -> None:
    assert not keep_freed_memory(grown_bytes=2**30, available_bytes=4 * 2**30)


def test_other_systems_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert not keep_freed_memory()
