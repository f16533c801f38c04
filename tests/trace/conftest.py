"""One quiet collector for the traces of a file: a full collection before each costs more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from costlab.trace.run import quiet_collector


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    with quiet_collector():
        yield
