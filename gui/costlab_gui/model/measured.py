"""The points of one run as rows: how each went, beside its prediction."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from costlab.errors import CostLabError
from costlab.i18n import _
from costlab.units import format_percent, format_value
from costlab_gui.model.predicted import predicted
from costlab_gui.model.runs import FAILED
from costlab_gui.model.session import Session, Setting
from costlab_gui.model.workspace import Workspace

WAITING, NOW = "waiting", "now"

Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One planned point.

    Attributes:
        target: the program.
        sizes: its sizes, filled in once it is measured.
        mode: of the program.
        status: of the result, else "waiting" or "now".
        time_s, interval_s, peak_bytes, energy_j: measured; None where they are not.
        predicted_s: what this machine's calibration says; None where there is none.
        error: prediction over measurement minus 1.
        notes: flags, and why something is missing, in one line.
    """

    target: str
    sizes: Mapping[str, int]
    mode: str
    status: str
    time_s: float | None = None
    interval_s: tuple[float, float] | None = None
    peak_bytes: int | None = None
    energy_j: float | None = None
    predicted_s: float | None = None
    notes: str = ""

    @property
    def error(self) -> float | None:
        if self.time_s and self.predicted_s is not None:
            return self.predicted_s / self.time_s - 1
        return None

    @property
    def failed(self) -> bool:
        return self.status in FAILED

    def time_text(self) -> str:
        """The time, and half of its interval's width beside it; a wide one with both ends."""
        if self.time_s is None:
            return ""
        text = format_value(self.time_s, "s")
        if self.interval_s is None:
            return text
        low, high = self.interval_s
        if high > 2 * low:
            return f"{text} ({format_value(low, 's')} – {format_value(high, 's')})"
        return f"{text} ± {format_percent(_digits((high - low) / 2 / self.time_s))}"

    def error_text(self) -> str:
        """The error with its sign: positive where the prediction is too high."""
        if self.error is None:
            return ""
        return ("+" if self.error >= 0 else "-") + format_percent(_digits(abs(self.error)))

    def sizes_text(self, names: Collection[str] | None = None) -> str:
        """Its sizes, or those of ``names``."""
        return " ".join(
            f"{name}={value}"
            for name, value in self.sizes.items()
            if names is None or name in names
        )


def varying(rows: Sequence[Row]) -> frozenset[str]:
    """Sizes that are not the same in all of ``rows`` that have them; all where none differs."""
    values: dict[str, set[int]] = {}
    for row in rows:
        for name, value in row.sizes.items():
            values.setdefault(name, set()).add(value)
    return frozenset(name for name, found in values.items() if len(found) > 1) or frozenset(values)


def status_text(status: str) -> str:
    """What a status is called."""
    return {
        WAITING: _("waiting"),
        NOW: _("measuring"),
        "ok": _("ok"),
        "noisy": _("noisy"),
        "oom": _("out of memory"),
        "oom_suspected": _("killed, likely for memory"),
        "timeout": _("too slow"),
        "crash": _("crashed"),
        "cancelled": _("cancelled"),
    }.get(status, status)


class Rows:
    """Makes rows and keeps predictions, which do not change while a run goes on."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._predicted: dict[tuple[object, ...], float | None] = {}

    def forget(self) -> None:
        """Predict again: a calibration is new."""
        self._predicted.clear()

    def of(
        self,
        planned: Sequence[Point],
        measured: Sequence[Point],
        now: tuple[str, str] | None = None,
    ) -> list[Row]:
        """A row for each planned point, in that order.

        Args:
            planned: of the run's plan.
            measured: the run's results.
            now: target and sizes ("n=512 d=64") of the point that is being measured.
        """
        self._predict_all(planned, measured)
        left = list(measured)
        found = []
        for one in planned:
            result = next((point for point in left if _is(one, point)), None)
            if result is None:
                found.append(self._waiting(one, now))
            else:
                left.remove(result)
                found.append(self._done(result))
        return found + [self._done(point) for point in left]

    def _waiting(self, one: Point, now: tuple[str, str] | None) -> Row:
        text = " ".join(f"{name}={value}" for name, value in one["sizes"].items())
        running = now is not None and now[0] == one["target"] and _within(text, now[1])
        return Row(
            one["target"], one["sizes"], one["mode"], NOW if running else WAITING,
            predicted_s=self._predicted[_key(one)],
        )  # fmt: skip

    def _done(self, result: Point) -> Row:
        interval = result.get("time_interval_s")
        reasons: Mapping[str, str] = result.get("reasons", {})
        why = reasons.get("status") or (
            "" if result.get("time_s") is not None else reasons.get("time_s", "")
        )
        notes = [flag.replace("_", " ") for flag in result.get("flags", ())]
        return Row(
            target=result["architecture"],
            sizes=result["sizes"],
            mode=result["mode"],
            status=result["status"],
            time_s=result.get("time_s"),
            interval_s=(interval[0], interval[1]) if interval else None,
            peak_bytes=result.get("peak_bytes"),
            energy_j=result.get("energy_j"),
            predicted_s=self._predicted[_key(result)],
            notes=" · ".join(part for part in (*notes, " ".join(why.split())) if part),
        )

    def _predict_all(self, planned: Sequence[Point], measured: Sequence[Point]) -> None:
        """Predict what is new, a program at a time."""
        groups: dict[tuple[object, ...], list[Point]] = {}
        for one in (*planned, *measured):
            if _key(one) not in self._predicted:
                groups.setdefault((*_key(one)[:-1], tuple(one["sizes"])), []).append(one)
        for points in groups.values():
            one = points[0]
            setting = Setting(
                one["mode"], one["dtype"], one["device"], one["threads"],
                dict(one.get("options", {})),
            )  # fmt: skip
            sizes = [point["sizes"] for point in points]
            times: list[float | None] = [None] * len(points)
            with contextlib.suppress(CostLabError):
                times = predicted(self._workspace, setting, _target(one), sizes, "time")
            for point, time_s in zip(points, times, strict=True):
                self._predicted[_key(point)] = time_s


def _target(one: Point) -> str:
    """Plans call it a target, results an architecture."""
    return str(one["target"] if "target" in one else one["architecture"])


def _key(one: Point) -> tuple[object, ...]:
    return (
        _target(one), one["mode"], one["dtype"], one["device"], one["threads"],
        tuple(sorted(one.get("options", {}).items())), tuple(sorted(one["sizes"].items())),
    )  # fmt: skip


def shown_runs(session: Session, run: str, newest: str, shown: bool) -> tuple[str, ...]:
    """``session.runs`` with a run added or taken away; the newest is followed as "latest"."""
    name = "latest" if run == newest else run
    kept = tuple(one for one in session.runs if one not in (run, name))
    return (*kept, name) if shown else kept


def _is(planned: Point, result: Point) -> bool:
    """Whether a result is of a planned point, whose sizes may leave out defaults."""
    return (
        planned["target"] == result["architecture"]
        and all(planned[key] == result[key] for key in ("mode", "dtype", "device", "threads"))
        and all(result["sizes"].get(name) == size for name, size in planned["sizes"].items())
    )


def _within(words: str, whole: str) -> bool:
    return set(words.split()) <= set(whole.split())


def _digits(share: float) -> float:
    """A share to two digits, one where it is below a percent: no error is known better."""
    return float(f"{share:.2g}") if share >= 0.01 else float(f"{share:.1g}")
