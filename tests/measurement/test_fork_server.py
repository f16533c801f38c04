"""The server that forks workers, when it fails itself."""

from __future__ import annotations

import pytest

from costlab.measurement import fork_server
from costlab.measurement.fork_server import ForkedWorkers
from costlab.measurement.process import Child


def test_a_server_that_dies_while_it_starts_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "Child", lambda _module, threads: Child("no_such", threads))

    with ForkedWorkers(1) as workers:
        outcomes = [workers.run({"pass": "describe"}, 30.0) for _ in range(2)]

    assert [outcome.status for outcome in outcomes] == ["crash", "crash"]
    assert "No module named no_such" in outcomes[0].reason
