"""One quiet collector for all traces of a file: collecting anew for each costs more than they do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from costlab.trace.run import quiet_collector


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    with quiet_collector():
        yield
