"""A stored run joined with predictions for its points, or with another run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costlab.cli.progress import Progress
from costlab.errors import InputError
from costlab.i18n import _

if TYPE_CHECKING:
    from costlab.comparison.record import Comparison
    from costlab.comparison.runs import RunComparison
    from costlab.prediction.record import Prediction
    from costlab.store import Store

LATEST = "latest"
Point = dict[str, Any]


def load_points(path: Path | None, run: str) -> tuple[str, list[Point]]:
    """The name and the points of ``run``; "latest" is the run begun last.

    Raises:
        InputError: if the store is empty or cannot be opened.
        UnknownNameError: if it has no such run.
    """
    from costlab.store import Store
    from costlab.store.home import default_store

    path = path or default_store()
    if not path.exists():
        raise _no_runs(path)
    with Store(path, read_only=True) as store:
        run = run_name(store, run)
        return run, store.points(run)


def run_name(store: Store, run: str) -> str:
    """``run``, or the name of the run begun last for "latest".

    Raises:
        InputError: if there is none.
    """
    if run != LATEST:
        return run
    known = store.runs()
    if not known:
        raise _no_runs(store.path)
    return known[-1].run


def _no_runs(path: Path) -> InputError:
    return InputError(
        _("there are no runs yet"), given=str(path), advice=_("measure one: costlab profile")
    )


def predict_points(points: Sequence[Point], progress: Progress) -> list[Prediction]:
    """A prediction on this machine for every point, from its calibration."""
    from costlab.calibration.choice import load_machine
    from costlab.cli.programs import load_program
    from costlab.prediction.api import predict

    found = []
    for point in points:
        machine = load_machine(point["device"], point["dtype"], point["threads"])
        program = load_program(
            point["architecture"],
            point["mode"],
            point["dtype"],
            machine.backend,
            flags=point.get("options"),
            progress=progress,
        )
        found.append(predict(program, point["sizes"], machine, threads=point["threads"]))
    progress.clear()
    return found


def compare_run(run: str, points: Sequence[Point], progress: Progress) -> Comparison:
    """Points of ``run`` beside the predictions for them."""
    from costlab.comparison.api import compare

    return compare(points, predict_points(points, progress), run)


def compare_stored(
    path: Path | None, name: str, points: Sequence[Point], against: str
) -> RunComparison:
    """The points of the run ``name`` beside those of the stored run ``against``.

    Raises:
        InputError: if the runs have no point in common.
        UnknownNameError: if there is no run ``against``.
    """
    from costlab.comparison.runs import compare_runs

    against, others = load_points(path, against)
    comparison = compare_runs(points, others, name, against)
    if not comparison.points:
        raise InputError(
            _("the runs have no point in common"),
            given=f"{name}, {against}",
            advice=_("measure the same sizes, modes and threads in both"),
        )
    return comparison
