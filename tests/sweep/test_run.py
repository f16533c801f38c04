"""What a sweep does with what its workers bring, whenever it is cut short."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.killed_sweep import stable
from costlab.errors import InputError, SizeError, StoreError
from costlab.measurement.point import PointSpec
from costlab.measurement.process import Outcome
from costlab.store import Store
from costlab.sweep import SweepPlan, expand, run_sweep
from costlab.sweep.run import Turn, WorkerPair
from tests.sweep.fakes import FakeWorkers, plan

_Outcome = tuple[dict[str, dict[str, Any]], Counter[tuple[str, str, int]]]
_SIZES = [3, 5]
pytestmark = pytest.mark.usefixtures("unsynced")
_PLAN = plan("a", "b", n=_SIZES, block=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def _results(store: Store) -> dict[str, dict[str, Any]]:
    """Points by hash, without what depends on the moment."""
    return {point["point"]: stable(point) for point in store.points("r", history=True)}


def _unbroken(tmp_path: Path, planned: SweepPlan = _PLAN) -> _Outcome:
    workers = FakeWorkers()
    with Store(tmp_path / "unbroken.sqlite") as store:
        list(run_sweep(planned, store, "r", opener=workers.open))
        return _results(store), Counter(workers.ran)


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory,
) -> _Outcome:
    """Results and passes of the sweep that nobody cuts."""
    return _unbroken(tmp_path_factory.mktemp("whole"))


def test_processes_of_a_block_are_interleaved(path: Path) -> None:
    workers = FakeWorkers()
    with Store(path) as store:
        list(run_sweep(plan(n=[3, 5, 7, 9]), store, "r", opener=workers.open))
    timed = [n for kind, _target, n in workers.ran if kind == "timing"]
    rounds = [timed[:4], timed[4:8], timed[8:]]

    assert [sorted(order) for order in rounds] == [[3, 5, 7, 9]] * 3
    assert rounds[1] == rounds[0][::-1]


def test_thread_counts_are_interleaved_too_with_workers_of_their_own(path: Path) -> None:
    opened: list[tuple[str, int]] = []
    workers = {count: FakeWorkers() for count in (1, 2)}

    def open_workers(device: str, threads: int) -> AbstractContextManager[WorkerPair]:
        opened.append((device, threads))
        return workers[threads].open(device, threads)

    turns: list[int] = []
    planned = SweepPlan(expand(["a"], {"n": [3, 5]}, threads=[1, 2]), seed=4, repeats=3)
    with Store(path) as store:
        sweep = run_sweep(
            planned, store, "r", opener=open_workers,
            progress=lambda turn: turns.append(turn.spec.threads),
        )  # fmt: skip
        list(sweep)

    assert sorted(opened) == [("cpu", 1), ("cpu", 2)]
    assert all(sorted(turns[at : at + 4]) == [1, 1, 2, 2] for at in (0, 4, 8))
    assert len(workers[1].ran) == len(workers[2].ran) == 10


def _run(store: Store, workers: FakeWorkers, seen: set[str], planned: SweepPlan = _PLAN) -> None:
    """Sweep, and note each point that is acknowledged, if it is in the store by then."""
    for result in run_sweep(planned, store, "r", opener=workers.open):
        assert store.statuses("r")[result.point] == result.status
        assert result.point not in seen
        seen.add(result.point)


def _struck(cut: int, error: BaseException) -> FakeWorkers:
    """Workers that raise ``error`` in place of their pass number ``cut``."""

    def strike(kind: str, _spec: PointSpec) -> Outcome | None:
        if kind != "describe" and len(workers.ran) == cut:
            raise error
        return None

    workers = FakeWorkers(answer=strike)
    return workers


@pytest.mark.parametrize("cut", range(20))
def test_cut_at_any_pass_nothing_is_lost_or_measured_twice(
    cut: int, path: Path, whole: _Outcome
) -> None:
    expected, passes = whole
    error: type[BaseException] = KeyboardInterrupt if cut % 2 else StoreError
    first, second = _struck(cut, error("struck")), FakeWorkers()
    seen: set[str] = set()
    with Store(path) as store:
        with pytest.raises(error, match="struck"):
            _run(store, first, seen)
        assert seen == set(store.statuses("r"))
        _run(store, second, seen)

        assert Counter(first.ran + second.ran) == passes
        assert _results(store) == expected
        assert len(store.points("r", history=True)) == len(expected)


def test_a_full_disk_ends_the_sweep_and_the_rest_is_done_later(path: Path, tmp_path: Path) -> None:
    planned = plan("a", "b", n=[3, 5, 7, 11, 13])
    expected, passes = _unbroken(tmp_path, planned)
    first, second = FakeWorkers(), FakeWorkers()
    seen: set[str] = set()
    with Store(path) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(StoreError, match="the disk takes no more"):
            _run(store, first, seen, planned)
        store._connection.execute("PRAGMA max_page_count = 100000")
        assert seen == set(store.statuses("r"))
        _run(store, second, seen, planned)

        assert 0 < len(first.ran) < passes.total()
        # At most the one pass that the full disk did not take is measured again.
        assert passes.total() <= len(first.ran) + len(second.ran) <= passes.total() + 1
        assert _results(store) == expected


def test_a_cancelled_sweep_keeps_its_passes_and_stores_no_result(path: Path) -> None:
    first, second = FakeWorkers(), FakeWorkers()
    with Store(path) as store:
        results = list(
            run_sweep(_PLAN, store, "r", cancelled=lambda: len(first.ran) >= 5, opener=first.open)
        )
        assert [result.status for result in results] == ["cancelled"]
        assert store.statuses("r") == {}
        list(run_sweep(_PLAN, store, "r", opener=second.open))

        assert len(first.ran) == 5
        assert Counter(first.ran + second.ran).most_common(1)[0][1] == 3
        assert len(store.statuses("r")) == 4


def _failing(status: str, kind: str) -> FakeWorkers:
    """Workers whose ``kind`` of pass ends with ``status`` at n = 5 of target a."""

    def answer(ran: str, spec: PointSpec) -> Outcome | None:
        if ran == kind and (spec.target, spec.sizes["n"]) == ("a", 5):
            return Outcome(status, reason="it died")
        return None

    return FakeWorkers(answer=answer)


@pytest.mark.parametrize("kind", ["timing", "memory", "resident"])
@pytest.mark.parametrize("status", ["oom", "oom_suspected", "timeout", "crash"])
def test_a_failure_is_kept_run_once_and_tried_again_only_on_request(
    status: str, kind: str, path: Path
) -> None:
    workers = _failing(status, kind)
    with Store(path) as store:
        list(run_sweep(_PLAN, store, "r", opener=workers.open))
        assert Counter(workers.ran)[kind, "a", 5] == 1
        assert len(store.statuses("r")) == 4
        again = FakeWorkers()
        assert list(run_sweep(_PLAN, store, "r", opener=again.open)) == []
        assert again.ran == []

        (result,) = run_sweep(_PLAN, store, "r", retry_failed=True, opener=again.open)
        history = store.points("r", history=True)

    assert (result.status, result.sizes["n"], result.peak_bytes) == ("ok", 5, 50)
    assert len(history) == 5


def test_a_rejected_size_is_stored_under_its_own_hash_and_not_tried_again(path: Path) -> None:
    def reject(kind: str, spec: PointSpec) -> Outcome | None:
        if kind == "timing" and spec.sizes["n"] == 5:
            raise SizeError("n is odd")
        return None

    with Store(path) as store:
        list(run_sweep(plan(n=[5, 6]), store, "r", opener=FakeWorkers(answer=reject).open))
        again = FakeWorkers()
        list(run_sweep(plan(n=[5, 6]), store, "r", opener=again.open))
        statuses = {point["sizes"]["n"]: point["status"] for point in store.points("r")}

    assert statuses == {5: "crash", 6: "ok"}
    assert again.ran == []


def test_a_target_that_could_not_be_described_is_replaced_once_it_can(path: Path) -> None:
    def die(kind: str, _spec: PointSpec) -> Outcome | None:
        return Outcome("crash", reason="no such file") if kind == "describe" else None

    planned = plan(n=[3])
    with Store(path) as store:
        for _attempt in range(2):
            list(run_sweep(planned, store, "r", opener=FakeWorkers(answer=die).open))
            assert list(store.statuses("r").values()) == ["crash"]
        list(run_sweep(planned, store, "r", opener=FakeWorkers().open))

        assert [point["status"] for point in store.points("r")] == ["ok"]
        assert len(store.points("r", history=True)) == 2


def test_a_complete_point_that_can_no_longer_be_described_has_not_failed(path: Path) -> None:
    def die(kind: str, _spec: PointSpec) -> Outcome | None:
        return Outcome("oom_suspected", reason="killed") if kind == "describe" else None

    with Store(path) as store:
        list(run_sweep(_PLAN, store, "r", opener=FakeWorkers().open))
        expected = store.points("r", history=True)

        assert list(run_sweep(_PLAN, store, "r", opener=FakeWorkers(answer=die).open)) == []
        assert store.points("r", history=True) == expected


def test_a_file_that_changes_while_it_is_measured_gives_no_time(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("one")

    def edit(kind: str, spec: PointSpec) -> Outcome | None:
        if kind == "memory" and spec.sizes["n"] == 3:
            file.write_text("another")
        return None

    planned = plan(f"{file}:build", n=[3], repeats=3)
    with Store(path) as store:
        (result,) = run_sweep(planned, store, "r", opener=FakeWorkers(answer=edit).open)
        (again,) = run_sweep(planned, store, "r", retry_failed=True, opener=FakeWorkers().open)

    assert (result.status, result.time_s) == ("crash", None)
    assert "changed while" in result.reasons["time_s"]
    assert (again.status, again.point) == ("ok", result.point)


def test_a_point_that_is_planned_twice_is_measured_once(path: Path) -> None:
    workers = FakeWorkers()
    with Store(path) as store:
        results = list(run_sweep(plan("a", "a", n=[3]), store, "r", opener=workers.open))

    assert len(results) == 1
    assert len(workers.ran) == 5


def test_another_environment_does_not_go_on_with_a_run(path: Path) -> None:
    with Store(path) as store:
        store.start_run("r", _PLAN.to_json(), {"id": "another machine"})

        with pytest.raises(InputError, match="another machine"):
            list(run_sweep(_PLAN, store, "r", opener=FakeWorkers().open))


def test_a_budget_ends_points_that_have_begun_and_leaves_the_others_open(path: Path) -> None:
    with Store(path) as store:
        none = list(run_sweep(plan(n=_SIZES, budget_s=1e-9), store, "r", opener=FakeWorkers().open))
        workers = FakeWorkers()
        some = list(run_sweep(plan(n=_SIZES, budget_s=60.0), store, "s", opener=workers.open))

    assert none == []
    assert {result.status for result in some} == {"ok"}
    # Equal times are tight at once: the least number of processes does.
    assert all(len(result.samples) == 3 for result in some)


def test_progress_counts_points_and_turns(path: Path) -> None:
    turns: list[Turn] = []
    with Store(path) as store:
        list(run_sweep(_PLAN, store, "r", progress=turns.append, opener=FakeWorkers().open))

    assert [turn.turn for turn in turns] == list(range(12))
    assert {(turn.points, turn.turns) for turn in turns} == {(4, 12)}
    assert [turn.done for turn in turns] == sorted(turn.done for turn in turns)
    assert turns[-1].done == 3


def test_the_order_of_the_processes_is_kept(path: Path) -> None:
    with Store(path) as store:
        list(run_sweep(_PLAN, store, "r", opener=FakeWorkers().open))
        points = store.points("r")

    assert all(point["timed_at"] == sorted(point["timed_at"]) for point in points)
    assert all(len(point["timed_at"]) == len(point["samples"]) == 3 for point in points)
    assert json.dumps(points)
