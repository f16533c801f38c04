"""What is collected here: the tests with a compiled library only where a C compiler is."""

from __future__ import annotations

from tests.devices.compiler import compiler

collect_ignore = [] if compiler() else ["test_library.py"]
