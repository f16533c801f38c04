"""Runs a sweep: the processes of several points in turns, each point committed when it ends."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from costlab.devices import fingerprint
from costlab.errors import InputError
from costlab.i18n import _
from costlab.measurement.api import open_workers
from costlab.measurement.point import PointResult, PointSpec
from costlab.measurement.process import Cancelled, SpawnedWorkers, Workers
from costlab.store import Store
from costlab.sweep.failures import has_failed
from costlab.sweep.plan import SweepPlan
from costlab.sweep.turn import Member

WorkerPair = tuple[Workers, Workers]
Opener = Callable[[str, int], AbstractContextManager[WorkerPair]]


@dataclass(frozen=True, slots=True)
class Turn:
    """What is about to be measured: a process of ``spec``; points and turns count from 0."""

    spec: PointSpec
    done: int
    points: int
    turn: int
    turns: int


Progress = Callable[[Turn], None]


@contextmanager
def open_pair(device: str, threads: int) -> Iterator[WorkerPair]:
    """Workers for the timed passes, and new interpreters for the resident pass."""
    with open_workers(device, threads) as workers:
        yield workers, SpawnedWorkers(threads)


def new_run() -> str:
    """A name for a run: the time of day in UTC and a random part."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def run_sweep(
    plan: SweepPlan,
    store: Store,
    run: str = "",
    *,
    retry_failed: bool = False,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    opener: Opener | None = None,
) -> Iterator[PointResult]:
    """Measure the points of ``plan`` that ``run`` does not hold yet.

    The processes of a block of points are interleaved (see :meth:`SweepPlan.turns`); what each
    brings is committed when it ends, and its point when that is complete. Bad sizes cost their
    point only: it is stored as "crash" with the reason. After a cancel, or when the budget is
    spent, the sweep ends; the same call goes on later, because a point is known by the hash of
    its specification, code and environment.

    Args:
        plan: what to measure.
        store: where each point goes before it is yielded.
        run: name of the run, "" for a new one.
        retry_failed: measure points again that failed, wholly or in one pass.
        progress: called before each turn.
        cancelled: asked during each point.
        opener: opens the workers of a device and thread count (default: real ones).

    Yields:
        Results as they come.

    Raises:
        StoreError: if the store fails, or another process measures this run.
        InputError: if the run was begun in another environment.
    """
    run = run or new_run()
    environment = fingerprint()
    store.start_run(run, plan.to_json(), environment.to_json())
    check_environment(store, run, environment.id)
    with store.lease(run), contextlib.ExitStack() as stack:
        sweep = _Sweep(plan, store, run, retry_failed, progress, cancelled)
        opened: dict[tuple[str, int], WorkerPair] = {}
        for number, block in enumerate(plan.blocks()):
            for spec in block:
                kind = (spec.device, spec.threads)
                if kind not in opened:
                    opened[kind] = stack.enter_context((opener or open_pair)(*kind))
            yield from sweep.block(number, block, opened)
            if sweep.ended:
                return


def resume(
    store: Store,
    run: str,
    *,
    retry_failed: bool = False,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    opener: Opener | None = None,
) -> Iterator[PointResult]:
    """Go on with a stored run where it stopped, by its own plan; see :func:`run_sweep`.

    Raises:
        UnknownNameError: if there is no such run.
    """
    plan = SweepPlan.from_json(store.info(run).plan)
    return run_sweep(
        plan, store, run, retry_failed=retry_failed, progress=progress, cancelled=cancelled,
        opener=opener,
    )  # fmt: skip


def check_environment(store: Store, run: str, environment: str) -> None:
    """Raise ``InputError`` if ``run`` was begun in another environment than ``environment``."""
    began = store.info(run).environment.get("id")
    if began != environment:
        raise InputError(
            _("the run was begun in another environment, so its points would not compare"),
            given=_("{run}, environment {began}; now {now}").format(
                run=run, began=began, now=environment
            ),
            advice=_("begin a new run: leave out --resume"),
        )


class _Sweep:
    """A sweep under way."""

    def __init__(
        self, plan: SweepPlan, store: Store, run: str, retry_failed: bool,
        progress: Progress | None, cancelled: Cancelled | None,
    ) -> None:  # fmt: skip
        self._plan = plan
        self._store = store
        self._run = run
        self._progress = progress
        self._cancelled = cancelled
        known = store.statuses(run)
        self._closed = {digest for digest, status in known.items() if status != "cancelled"}
        if retry_failed:
            self._closed -= {point["point"] for point in store.points(run) if has_failed(point)}
        # A point that is complete has not failed because its code cannot be read now.
        self._closed |= store.asked(run)
        self._end = None if plan.budget_s is None else time.monotonic() + plan.budget_s
        self._points = len(plan.points)
        self._done = 0
        self._turn = 0
        self.ended = False

    def block(
        self, place: int, specs: list[PointSpec], workers: Mapping[tuple[str, int], WorkerPair]
    ) -> Iterator[PointResult]:
        """Measure the points of one block in rounds until each has ended."""
        end = self._block_end(len(specs))
        share_s = None if end is None else end - time.monotonic()
        members = [
            Member(
                spec, self._plan, self._store, self._run, workers[spec.device, spec.threads],
                share_s, self._cancelled,
            )
            for spec in specs
        ]  # fmt: skip
        for number in itertools.count():
            order = self._plan.turns(place, len(members), number)
            open_members = [members[index] for index in order if not members[index].over]
            for left, member in zip(range(len(open_members), 0, -1), open_members, strict=True):
                deadline = end
                if end is not None and number == 0:
                    # Nobody may take the time in which the others would have their first turn.
                    deadline = time.monotonic() + (end - time.monotonic()) / left
                    if deadline <= time.monotonic():
                        self.ended = True
                        return
                yield from self._take_turn(member, deadline)
                if self.ended:
                    return
            if all(member.over for member in members):
                return

    def _take_turn(self, member: Member, deadline: float | None) -> Iterator[PointResult]:
        if self._progress is not None:
            turns = max(self._points * self._plan.repeats, self._turn + 1)
            self._progress(Turn(member.spec, self._done, self._points, self._turn, turns))
        result = member.turn(deadline, self._closed)
        self._turn += 1
        self._done += member.over
        if result is None:
            return
        self.ended = result.status == "cancelled"
        if not self.ended:
            self._store.add(self._run, {**result.to_json(raw=True), "asked": member.asked})
        yield result

    def _block_end(self, count: int) -> float | None:
        """When a block of ``count`` points must end: its share of what is left."""
        if self._end is None:
            return None
        now = time.monotonic()
        return now + (self._end - now) * count / (self._points - self._done)
