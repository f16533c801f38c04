"""One point under way: its passes, each in a fresh process, and what they have brought so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Protocol

from costlab.devices import fingerprint
from costlab.i18n import _
from costlab.measurement.energy_pass import WINDOW_S, WINDOWS, measure_energy, unreadable
from costlab.measurement.evidence import Evidence
from costlab.measurement.judge import RULES, judge
from costlab.measurement.judge_machine import judge_clock, summary_of
from costlab.measurement.known_quickest import known_quickest_s
from costlab.measurement.observer import Observer, open_observer
from costlab.measurement.point import PassRecord, PointResult, PointSpec, timing_from
from costlab.measurement.process import Cancelled, Outcome, SpawnedWorkers, Workers
from costlab.measurement.requests import error_from, request_of
from costlab.measurement.shared_core import quickest_of, shared_share, tells, were_alone
from costlab.measurement.statistics import median
from costlab.measurement.stopping import StoppingRule, exit_of
from costlab.measurement.timing import TimingPlan
from costlab.measurement.watch import Observation

Progress = Callable[[str, float], None]

# A process takes longer than this times the usual only if it hangs.
_LATE = 3.0

_MEMORY_FIELDS = ("peak_bytes", "allocated_bytes", "reserved_bytes", "device_bytes")


class Keeper(Protocol):
    """Keeps what passes bring beyond the end of this process."""

    def take(self, kind: str) -> tuple[Outcome, Observation, float] | None:
        """The next kept outcome of that pass, what was seen beside it, and how long it took."""
        ...

    def keep(self, kind: str, outcome: Outcome, observation: Observation, wall_s: float) -> None:
        """Keep what a pass has brought."""
        ...


class Measuring:
    """The passes of one point; a sweep takes the :meth:`steps` of several points in turns.

    Args:
        spec: the point.
        workers: processes of the timed passes.
        plan: limits within one timed process.
        timeout_s: seconds after which one process is killed.
        budget_s: seconds for the whole point; None to time exactly as often as asked for.
        progress: called with what is being done and the share that is done.
        cancelled: asked ten times a second.
        fresh: processes of the resident pass; by default new interpreters.
        observer: what the passes are watched with; by default the point's device.
        energy: whether to measure energy where the device has a counter.
        keeper: gives passes that were made before, and keeps those that are made.
    """

    def __init__(
        self, spec: PointSpec, workers: Workers, plan: TimingPlan, timeout_s: float,
        budget_s: float | None, progress: Progress | None = None,
        cancelled: Cancelled | None = None, fresh: Workers | None = None,
        observer: Observer | None = None, energy: bool = True, keeper: Keeper | None = None,
    ) -> None:  # fmt: skip
        self._spec = spec
        self._code = ""
        self._environment = fingerprint()
        self._workers = workers
        self._fresh = fresh or SpawnedWorkers(spec.threads)
        self._plan = plan
        self._timeout_s = timeout_s
        self._wall_s = 0.0
        self._end = None if budget_s is None else time.monotonic() + budget_s
        self._progress = progress or (lambda _text, _share: None)
        self._cancelled = cancelled or (lambda: False)
        self._observer = observer or open_observer(spec.device)
        self._energy = energy
        self._keeper = keeper
        self._evidence = Evidence()
        self._stopped = ""

    @property
    def spec(self) -> PointSpec:
        """The point, with every size filled in once the "describe" pass is done."""
        return self._spec

    @property
    def digest(self) -> str:
        """Content hash of the point, final once the "describe" pass is done."""
        return self._spec.digest(self._code, self._environment.id)

    def steps(self, repeats: int, resident: bool) -> Iterator[str]:
        """Describe, time in one process, take the memory passes, then time in the others.

        Yields:
            The name of the pass that the next step runs, before it runs.

        Raises:
            InputError, SizeError, ModuleError: as ``measure`` does.
        """
        yield "describe"
        described = self._run("describe", self._workers)
        if described.status != "ok":
            self._evidence.failure = described
            return
        self._spec = replace(self._spec, sizes=described.message["sizes"])
        self._code = described.message["code"]
        yield "timing"
        if not self._time(repeats):
            return
        yield "memory"
        self._progress(_("measuring peak memory"), 1 / (repeats + 2))
        self._measure_memory("memory", self._workers)
        if resident:
            yield "resident"
            self._progress(_("measuring resident memory"), 2 / (repeats + 2))
            self._measure_memory("resident", self._fresh)
        else:
            self._evidence.reasons["rss_peak_bytes"] = _("not asked for")
        rule = StoppingRule(least=repeats, fixed=self._end is None)
        while not self._exit(rule):
            yield "timing"
            if not self._time(repeats):
                return
        if not self._why_no_energy():
            yield "energy"
            self._progress(_("measuring energy"), 0.99)
            self._evidence.energy = measure_energy(
                lambda: self._run("energy", self._workers), self._observer.reader
            )
        self._progress(_("done"), 1.0)

    def _exit(self, rule: StoppingRule) -> str:
        passes = [one.wall_s for one in self._evidence.passes if one.name == "timing"]
        left_s = None if self._end is None else self._end - time.monotonic()
        timings = self._evidence.timings
        self._stopped = exit_of(
            self._evidence.medians, rule, left_s, median(passes),
            processes=len(timings), alone=len(were_alone(timings)),
        )  # fmt: skip
        return self._stopped

    def _why_no_energy(self) -> str:
        """Why there is no energy pass, kept as the reason; "" if there is one."""
        why = _("not asked for") if not self._energy else unreadable(self._observer.reader)
        left_s = float("inf") if self._end is None else self._end - time.monotonic()
        if not why and left_s < WINDOWS * 2 * WINDOW_S:
            why = _("the budget has no room for {time:.0f} s of energy windows").format(
                time=WINDOWS * WINDOW_S
            )
        if why:
            self._evidence.reasons.update(energy_j=why, power_w=why)
        return why

    def _run(self, kind: str, workers: Workers) -> Outcome:
        """Run a pass, or take it as it was kept, with what was seen beside it."""
        begin_s = time.monotonic()
        kept = self._keeper.take(kind) if self._keeper is not None else None
        if kept is None:
            outcome, observation, wall_s = self._watched(kind, workers)
            if self._keeper is not None:
                self._keeper.keep(kind, outcome, observation, wall_s)
        else:
            outcome, observation, wall_s = kept
            self._wall_s += wall_s
        # In a sweep other points have their turn between two passes.
        self._wall_s += time.monotonic() - begin_s
        if kind == "timing":
            self._evidence.observations.append(observation)
        self._evidence.passes.append(PassRecord(
            name=kind,
            status=outcome.status,
            wall_s=wall_s,
            profiled=outcome.message.get("profiled"),
            others_cpus=observation.others_cpus,
            costlabs=len(observation.costlabs),
            watch_cpu_s=observation.cost_s,
            readings=summary_of(observation.samples),
        ))  # fmt: skip
        if outcome.status == "rejected":
            raise error_from(outcome.message)
        return outcome

    def _watched(self, kind: str, workers: Workers) -> tuple[Outcome, Observation, float]:
        timeout_s = self._timeout_s
        if self._end is not None:
            # One that was begun in time may end a little later than the budget.
            taken_s = [one.wall_s for one in self._evidence.passes if one.name == kind]
            late_s = _LATE * median(taken_s) if taken_s else 0.0
            left_s = max(self._end - time.monotonic(), late_s)
            timeout_s = min(timeout_s, left_s)
        request = {
            **request_of(kind, self._spec), "plan": asdict(self._timing_plan()),
            "window_s": WINDOW_S,
            # Once is enough to tell whether answers are kept, and takes more calls.
            "vary": not self._evidence.timings,
        }  # fmt: skip
        if kind == "timing":
            self._evidence.flags.update(self._observer.cool_down(self._cancelled))
        begin_s = time.monotonic()
        if kind == "describe":  # which measures nothing that could be disturbed
            outcome = workers.run(request, timeout_s, self._cancelled)
            return outcome, Observation(), time.monotonic() - begin_s
        watch = self._observer.watch()

        def asked() -> bool:
            watch.poll()
            return self._cancelled()

        outcome = workers.run(request, timeout_s, asked)
        observation = watch.stop(outcome.message.get("cpu_s"))
        self._observer.ended()
        return outcome, observation, time.monotonic() - begin_s

    def _timing_plan(self) -> TimingPlan:
        """The plan, with the quickest probe that the processes so far have seen."""
        if not tells(self._spec.device, self._spec.threads):
            return self._plan
        quickest_s = known_quickest_s(quickest_of(self._evidence.timings))
        if self._plan.probe_quickest_s is not None:
            quickest_s = min(quickest_s, self._plan.probe_quickest_s)
        return replace(self._plan, probe_quickest_s=quickest_s)

    def _time(self, repeats: int) -> bool:
        """Time one process more; False, with the failure kept, if it brings none."""
        done = len(self._evidence.timings)
        share = (done + 2 * bool(done)) / (repeats + 2)
        self._progress(_("timing process {number}").format(number=done + 1), min(share, 0.99))
        outcome = self._run("timing", self._workers)
        if outcome.status != "ok":
            self._evidence.failure = outcome
            return False
        timing, flags = judge_clock(
            timing_from(outcome.message["timing"]), self._evidence.observations[-1].samples
        )
        self._evidence.flags.update(flags)
        self._evidence.add(timing, outcome.message)
        return True

    def _measure_memory(self, kind: str, workers: Workers) -> None:
        outcome = self._run(kind, workers)
        if outcome.status == "ok":
            self._evidence.memory.update(outcome.message)
            return
        names = _MEMORY_FIELDS if kind == "memory" else ("rss_peak_bytes", "rss_baseline_bytes")
        why = f"{outcome.status}: {outcome.reason}"
        self._evidence.reasons.update(dict.fromkeys(names, why))

    def result(self) -> PointResult:
        """The point with its status, flags and reasons."""
        spec, evidence = self._spec, self._evidence
        verdict = judge(spec, evidence, self._environment.logical_cores)
        memory: Mapping[str, Any] = evidence.memory
        energy = evidence.energy
        return PointResult(
            point=self.digest,
            architecture=spec.target,
            mode=spec.mode,
            dtype=spec.dtype,
            device=spec.device,
            sizes=spec.sizes,
            threads=spec.threads,
            status=verdict.status,
            environment=self._environment.id,
            time_s=verdict.time_s,
            time_interval_s=verdict.interval_s,
            samples=evidence.medians,
            quick_samples=evidence.quick,
            shared=shared_share(evidence.timings),
            within_spread=evidence.typical("relative_iqr"),
            cold_time_s=evidence.cold_time_s,
            host_time_s=evidence.typical("host_s"),
            stopped=self._stopped,
            peak_bytes=memory.get("peak_bytes"),
            rss_peak_bytes=memory.get("rss_peak_bytes"),
            rss_baseline_bytes=memory.get("rss_baseline_bytes"),
            allocated_bytes=memory.get("allocated_bytes"),
            reserved_bytes=memory.get("reserved_bytes"),
            device_bytes=memory.get("device_bytes"),
            energy_j=energy.energy_j if energy else None,
            power_w=energy.power_w if energy else None,
            flags=verdict.flags,
            reasons=verdict.reasons,
            options=spec.options,
            wall_s=self._wall_s,
            called_s=sum(timing.called_s or 0.0 for timing in evidence.timings),
            processes=tuple(evidence.timings),
            passes=tuple(evidence.passes),
            energy_windows=energy.windows if energy else (),
            rules=RULES,
        )
