"""Which exceptions mean that memory ran out."""

from __future__ import annotations

# torch's CPU allocator raises a plain RuntimeError; CUDA's has a class of its own.
_SIGNS = ("can't allocate memory", "cannot allocate memory", "out of memory", "not enough memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` is a failed allocation on the CPU or on CUDA."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in _SIGNS)
