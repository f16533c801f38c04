"""Run against run on samples of known laws: many points, drift between the runs, real changes."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from costlab.comparison.runs import RunComparison, compare_runs

TRIALS = 30
Effect = Callable[[str, int], float]


def nothing(_name: str, _n: int) -> float:
    return 1.0


def first_slower(name: str, _n: int) -> float:
    return 1.05 if name == "first" else 1.0


def run_of(
    noise: random.Random, *, processes: int = 10, sigma: float = 0.01, session: float = 0.0,
    effect: Effect = nothing,
) -> list[dict[str, Any]]:  # fmt: skip
    """Two programs at six lengths; ``session`` shifts all processes of a point alike."""
    points = []
    for name in ("first", "second"):
        for n in (32, 64, 128, 256, 512, 1024):
            level = n * effect(name, n) * math.exp(noise.gauss(0, session))
            samples = [level * math.exp(noise.gauss(0, sigma)) for _ in range(processes)]
            points.append(point(name, n, samples))
    return points


def point(name: str, n: int, samples: list[float], **more: Any) -> dict[str, Any]:
    return {
        "architecture": name, "mode": "forward", "dtype": "float32", "device": "cpu",
        "threads": 1, "sizes": {"n": n}, "status": "ok", "time_s": sorted(samples)[0],
        "samples": samples, "peak_bytes": 64 * n, "environment": "e1", "flags": [], **more,
    }  # fmt: skip


def verdicts(comparison: RunComparison) -> dict[str, list[str]]:
    """Verdicts by program."""
    found: dict[str, list[str]] = {}
    for one in comparison.points:
        assert one.difference is not None
        found.setdefault(one.architecture, []).append(one.difference.verdict)
    return found


@pytest.mark.parametrize("session", [0.0, 0.01, 0.03], ids=["none", "1 %", "3 %"])
def test_equal_runs_are_rarely_called_different(session: float) -> None:
    """At most 5 % of the points, even where each run meets the machine in another state."""
    noise = random.Random(21)
    called = total = 0
    for _trial in range(TRIALS):
        found = verdicts(compare_runs(run_of(noise, session=session), run_of(noise)))
        names = [name for of_one in found.values() for name in of_one]
        called += sum(name in ("faster", "slower") for name in names)
        total += len(names)
    assert called <= 0.05 * total


def test_the_one_program_that_got_slower_is_found() -> None:
    noise = random.Random(22)
    right = wrong = 0
    for _trial in range(TRIALS):
        found = verdicts(compare_runs(run_of(noise, effect=first_slower), run_of(noise)))
        right += found["first"].count("slower")
        wrong += sum(name in ("faster", "slower") for name in found["second"])
    assert right >= 0.9 * TRIALS * 6
    assert wrong <= 0.05 * TRIALS * 6


def test_a_verdict_among_many_points_needs_a_smaller_chance() -> None:
    """Five processes show a lone change in one point, but not one change among twelve."""
    slow, fast = [1.05, 1.06, 1.07, 1.055, 1.065], [1.0, 1.01, 0.99, 1.005, 0.995]
    mixed = [1.0, 1.1, 0.98, 1.05, 1.02]
    others = [point("second", n, mixed) for n in range(1, 12)]

    alone = compare_runs([point("first", 8, slow)], [point("first", 8, fast)])
    among = compare_runs([point("first", 8, slow), *others], [point("first", 8, fast), *others])

    assert alone.points[0].difference is not None and among.points[0].difference is not None
    assert alone.points[0].difference.verdict == "slower"
    assert among.points[0].difference.verdict == "cannot tell"
    assert among.points[0].difference.reason == "too few processes for so many points"


def test_what_only_one_run_has_is_listed_and_what_failed_cannot_tell() -> None:
    ok = [1.0, 1.01, 1.02, 1.0, 1.01]
    lost = {
        **point("first", 8, ok), "samples": [], "time_s": None, "peak_bytes": None,
        "status": "oom",
    }  # fmt: skip

    found = compare_runs(
        [point("first", 8, ok, environment="e2"), point("first", 16, ok)],
        [lost, point("first", 32, ok)],
        "new",
        "old",
    )

    assert found.only_run == ("first forward float32 n=16",)
    assert found.only_against == ("first forward float32 n=32",)
    assert found.counts()["cannot tell"] == 1
    assert found.same_environment is False
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["points"][0]["reason"] == "not measured in both"


def test_runs_are_compared_by_their_quick_calls_where_both_have_them() -> None:
    """Medians say 40 % slower here, quick calls 10 %; a point of an older version has medians."""
    old = point("first", 8, [1.0] * 9, quick_samples=[0.9] * 9)
    new = point("first", 8, [1.4] * 9, quick_samples=[0.99] * 9)

    (quick,) = compare_runs([new], [old]).points
    (medians,) = compare_runs([new], [point("first", 8, [1.0] * 9)]).points

    assert quick.difference is not None and medians.difference is not None
    assert quick.difference.ratio == pytest.approx(1.1)
    assert medians.difference.ratio == pytest.approx(1.4)


def test_peak_memory_is_compared_by_its_ratio() -> None:
    ok = [1.0, 1.01, 1.02, 1.0, 1.01]

    found = compare_runs([point("first", 8, ok, peak_bytes=640)], [point("first", 8, ok)])

    assert found.points[0].peak_ratio == 640 / 512


def test_runs_with_other_threads_are_not_the_same_point() -> None:
    ok = [1.0, 1.01, 1.02, 1.0, 1.01]

    found = compare_runs([point("first", 8, ok, threads=2)], [point("first", 8, ok)])

    assert not found.points and found.only_run


@pytest.mark.parametrize("turns", [True, False], ids=["in turns", "point after point"])
def test_two_sweeps_on_a_machine_that_grows_slower_do_not_differ(turns: bool) -> None:
    """12 points x 8 processes in shuffled order, twice in a row, 10 % slower at the end."""
    noise = random.Random(23)
    called = total = 0
    for _trial in range(TRIALS):
        sweeps = [_sweep(noise, turns, start) for start in (0, 1)]
        found = verdicts(compare_runs(sweeps[1], sweeps[0]))
        names = [name for of_one in found.values() for name in of_one]
        called += sum(name in ("faster", "slower") for name in names)
        total += len(names)
    assert called <= 0.05 * total


def _sweep(noise: random.Random, turns: bool, start: int) -> list[dict[str, Any]]:
    keys = [(name, n) for name in ("first", "second") for n in (32, 64, 128, 256, 512, 1024)]
    noise.shuffle(keys)
    queue = keys * 8 if turns else [key for key in keys for _process in range(8)]
    samples: dict[tuple[str, int], list[float]] = {key: [] for key in keys}
    for place, key in enumerate(queue):
        drift = 0.05 * (start + place / len(queue))
        samples[key].append(key[1] * math.exp(drift + noise.gauss(0, 0.01)))
    return [point(name, n, samples[name, n]) for name, n in keys]
