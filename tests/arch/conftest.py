"""One thread: at these sizes a second one only waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rules.allocations import threads


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    with threads(1):
        yield
