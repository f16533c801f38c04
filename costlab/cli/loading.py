"""Loads users' files once before a sweep, in the processes that the sweep then goes on with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from costlab.errors import SizeError

if TYPE_CHECKING:
    from costlab.sweep.plan import SweepPlan
    from costlab.sweep.run import WorkerPair

LOAD_TIMEOUT_S = 30.0


class OpenWorkers:
    """Workers by device and thread count, each opened once and held to the end."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._opened: dict[tuple[str, int], WorkerPair] = {}

    def __enter__(self) -> OpenWorkers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def open(self, device: str, threads: int) -> Iterator[WorkerPair]:
        """The workers; leaving the context does not close them."""
        from costlab.sweep.run import open_pair

        if (device, threads) not in self._opened:
            pair = self._stack.enter_context(open_pair(device, threads))
            self._opened[device, threads] = pair
        yield self._opened[device, threads]


def check_loads(plan: SweepPlan, workers: OpenWorkers, cancelled: Callable[[], bool]) -> None:
    """Load every user's file of ``plan``, since nothing of it can be measured if one cannot be.

    Raises:
        MeasurementError: if a file crashes, or is not loaded within ``LOAD_TIMEOUT_S``.
        InputError, ModuleError: what else is wrong with its factory.
        KeyboardInterrupt: if it was cancelled.
    """
    from costlab.measurement.api import describe
    from costlab.sources.user import names_file

    for point in {one.target: one for one in plan.points if names_file(one.target)}.values():
        with workers.open(point.device, point.threads) as (timed, _fresh):
            try:
                describe(point, timed, LOAD_TIMEOUT_S, cancelled)
            except InterruptedError:
                raise KeyboardInterrupt from None
            except SizeError:
                continue  # costs this point only
