"""Starts what runs in child processes: measuring, calibrating, import and export of runs."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from costlab.i18n import _
from costlab_gui.hub import Hub
from costlab_gui.jobs.job_process import JobProcess
from costlab_gui.model.agreement import compare_command
from costlab_gui.model.calibration import calibrate_command
from costlab_gui.model.jobs import CANCELLED, DONE, FAILED, Command
from costlab_gui.model.measure import MeasurePlan, Wish, sweep_text
from costlab_gui.model.messages import ERROR, Message
from costlab_gui.model.runs import LATEST


def measure(hub: Hub, plan: MeasurePlan, wish: Wish) -> JobProcess:
    """Measure the points of ``plan`` in a new run, whose points are drawn as they come."""
    session = hub.session
    text = sweep_text(plan, session.setting, hub.workspace.threads(session.setting), wish)
    with tempfile.NamedTemporaryFile(
        "w", suffix=".toml", prefix="costlab-", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    count = len(plan.points)
    title = _("Measuring 1 point") if count == 1 else _("Measuring {count} points").format(
        count=count
    )  # fmt: skip
    process = _profile(hub, title, (file.name,))
    process.ended.connect(lambda: _remove(Path(file.name)))
    if LATEST not in session.runs:
        hub.change(_("show the new run"), runs=(*session.runs, LATEST))
    return process


def go_on(hub: Hub, run: str, *, retry_failed: bool = False) -> JobProcess:
    """Measure what is left of a run, and what failed too with ``retry_failed``."""
    option = "--retry-failed" if retry_failed else "--resume"
    title = _("Measuring failed points again") if retry_failed else _("Going on with a run")
    return _profile(hub, title, (option, "--run", run))


def calibrate(hub: Hub, device: str, threads: int, dtype: str, level: str) -> JobProcess:
    """Calibrate this machine; predictions rest on the new record when it is done."""
    process = _start(hub, calibrate_command(device, threads, dtype, level))

    def renew() -> None:
        if process.job.state == DONE:
            hub.workspace.forget_machines()
            hub.data_changed.emit("machines")

    process.ended.connect(renew)
    return process


def import_file(hub: Hub, path: Path) -> JobProcess:
    """Add an exported run, or a store, to the session's store."""
    title = _("Importing {name}").format(name=path.name)
    process = _start(hub, Command(title, ("import", str(path), *_store(hub))))
    process.ended.connect(hub.runs.look)
    return process


def export_run(hub: Hub, run: str, path: Path) -> JobProcess:
    """Write a run to a file; the suffix says how."""
    title = _("Exporting {run}").format(run=run)
    words = ("export", run, "-o", str(path), *_store(hub))
    return _start(hub, Command(title, words))


def compare(hub: Hub, run: str) -> JobProcess:
    """Compare a run with the predictions for it; the job's answer is that of the command."""
    return hub.jobs.start(compare_command(run, _store(hub)))


def _profile(hub: Hub, title: str, words: tuple[str, ...]) -> JobProcess:
    command = Command(
        title,
        ("profile", *words, "--json", *_store(hub)),
        alone=True,
        unit=_("points"),
        kept=_("points that ended are kept, and Resume goes on"),
    )
    process = _start(hub, command)
    # Each point is in the store before it is told.
    process.heard.connect(lambda _line: hub.runs.look())
    process.ended.connect(hub.runs.look)
    return process


def _start(hub: Hub, command: Command) -> JobProcess:
    process = hub.jobs.start(command)
    process.ended.connect(lambda: hub.tell(_outcome(process)))
    return process


def _outcome(process: JobProcess) -> Message:
    """One line about how a job ended, with the report behind "Details"."""
    job = process.job
    text = f"{job.command.title}: {job.status()}"
    if job.state == FAILED:
        return Message(text, ERROR, job.report())
    if job.state == CANCELLED or "--json" in job.command.words or not job.output:
        return Message(text)
    # Without --json a command says in its last line what it has done.
    return Message(job.output.splitlines()[-1])


def _store(hub: Hub) -> tuple[str, ...]:
    named = hub.session.store
    return ("--store", str(Path(named).expanduser())) if named else ()


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
