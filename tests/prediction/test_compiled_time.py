"""Stacked times against the time model, group by group, over the whole catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from costlab.arch import registry
from costlab.formulas import store
from costlab.formulas.evaluate import class_index, complete_arrays
from costlab.formulas.record import Derivation
from costlab.hardware.calibration_record import Unaligned
from costlab.hardware.catalogue import load_profile
from costlab.hardware.machine import Machine
from costlab.prediction.compiled_class import compiled
from costlab.prediction.compiled_time import times_of
from costlab.prediction.grid import Wanted, curve, curves
from costlab.prediction.timing import time_of
from tests.hardware.records import calibration
from tests.prediction.machines import flat_machine
from tests.prediction.programs import attention, recurrence, window

_PARTS = ("compute_s", "memory_s", "launch_s", "latency_s", "low_s", "high_s", "total_s")
_LAUNCHES = {"forward": 3e-6, "loop_forward": 2e-6, "fused_forward": 1e-6, "train_forward": 9e-6}
_PROGRAMS = [(name, mode) for name in store.names() for mode in registry.spec(name).modes]


def _machines() -> list[Machine]:
    unaligned = (Unaligned(1_000_000, 1e-10), Unaligned(9_000_000, 2e-9))
    calibrated = Machine.from_calibration(replace(calibration(), unaligned=unaligned))
    cold = replace(
        calibrated,
        cold_share=0.7,
        program_factor=1.2,
        warming_s=1e-4,
        launch_s=_LAUNCHES,
        spread={"": (0.7, 1.6), "matmul": (0.9, 1.1)},
    )
    return [cold, Machine.from_profile(load_profile("cpu-2core")), flat_machine(launch_s=1e-6)]


def _pieces(derivation: Derivation, draw: np.random.Generator) -> list[tuple[int, dict[str, Any]]]:
    """Complete sizes by class: n varies, whatever classes its values fall into."""
    heads, block = int(draw.choice([1, 2, 8])), int(draw.choice([1, 4, 32]))
    known = {
        "b": int(draw.choice([1, 3])), "d": heads * 8 * int(draw.integers(1, 64)), "h": heads,
        "w": block, "c": block, "R": int(draw.choice([1, 2])), "L": 2, "f": 96, "g": 1, "G": 1,
    }  # fmt: skip
    lengths = np.concatenate([block * draw.integers(1, 900, 9), draw.integers(1, 5000, 4)])
    sizes = {name: value for name, value in known.items() if name in derivation.sizes}
    # Some programs hold at few of these sizes; at their own defaults each of them holds.
    return _at(derivation, sizes, lengths) or _at(derivation, {}, 1024 * draw.integers(1, 9, 4))


def _at(
    derivation: Derivation, sizes: dict[str, int], lengths: np.ndarray
) -> list[tuple[int, dict[str, Any]]]:
    full = complete_arrays(derivation, {**sizes, "n": np.unique(lengths).astype(float)})
    chosen = class_index(derivation, full)
    found = []
    for index in np.unique(chosen[chosen >= 0]):
        mask = chosen == index
        own = {k: v[mask] if isinstance(v, np.ndarray) else v for k, v in full.items()}
        found.append((int(index), own))
    return found


@pytest.mark.parametrize("third", range(3))
def test_stacked_times_are_those_of_the_model(third: int, seed: int) -> None:
    """A third of the programs of all modes in one batch; each class at sizes where it holds.

    Which machine a third is timed for changes with the seed, as the sizes do.
    """
    machine, draw = _machines()[(third + seed) % 3], np.random.default_rng([seed, third])
    expected, batch = [], []
    for name, mode in _PROGRAMS[third::3]:
        derivation = store.load(name, mode)
        pieces = _pieces(derivation, draw)
        assert pieces, (name, mode)
        for index, sizes in pieces:
            cost_class = derivation.classes[index]
            expected.append(time_of(cost_class, sizes, machine, mode))
            program = compiled(cost_class, machine, mode)
            batch.append((program, program.at(sizes)))

    found = times_of(batch, machine)

    assert len(found) == len(batch)
    for ours, theirs in zip(found, expected, strict=True):
        for part in _PARTS:
            value = np.broadcast_to(getattr(theirs, part), np.shape(theirs.total_s))
            np.testing.assert_allclose(
                np.broadcast_to(getattr(ours, part), value.shape), value,
                rtol=1e-9, atol=1e-12 * float(np.max(theirs.total_s)),
            )  # fmt: skip


@pytest.mark.parametrize(
    "program", [attention(), recurrence(), window()], ids=lambda p: p.architecture
)
def test_a_curve_is_the_model_at_each_size(program: Derivation) -> None:
    machine = flat_machine(launch_s=1e-6, step_s=1e-7, spread={"": (0.5, 2.0)})
    sizes = {name: 8 for name in program.sizes if name != "n"}
    lengths = np.array([8, 64, 16, 4096])

    found = curve(program, "n", lengths, sizes, "time", machine)

    for index, length in enumerate(lengths):
        full = program.complete({**sizes, "n": int(length)})
        alone = time_of(program.select(full), full, machine, program.mode)
        assert found.value[index] == pytest.approx(alone.total_s, rel=1e-12)
        assert found.low[index] == pytest.approx(alone.low_s, rel=1e-12)
        assert found.high[index] == pytest.approx(alone.high_s, rel=1e-12)


def test_several_curves_and_metrics_are_those_one_by_one() -> None:
    machine = _machines()[0]
    programs = [store.load(name) for name in ("full_attention", "sliding_window", "lstm")]
    lengths = [np.arange(1.0, 70.0), 32.0 * np.arange(1, 12), np.array([7.0])]
    sizes = {"b": 1, "d": 64, "h": 4, "w": 32}
    wanted = [
        Wanted(p, x, {k: v for k, v in sizes.items() if k in p.sizes})
        for p, x in zip(programs, lengths, strict=True)
    ]

    found = curves(wanted, "n", ("time", "memory", "flop", "state"), machine, hands=9.0)

    for item, results in zip(wanted, found, strict=True):
        for metric in ("time", "memory", "flop"):
            alone = curve(item.derivation, "n", item.values, item.sizes, metric, machine, hands=9.0)
            together = results[metric]
            assert not isinstance(together, Exception)
            np.testing.assert_allclose(together.value, alone.value, rtol=1e-12)
            np.testing.assert_allclose(together.high, alone.high, rtol=1e-12)
        assert isinstance(results["state"], Exception)


def test_a_cost_that_does_not_depend_on_the_size_is_the_same_everywhere() -> None:
    lengths = np.array([1.0, 8.0, 64.0])
    for metric in ("time", "flop"):
        found = curve(
            store.load("lstm", "decode"), "n", lengths, {"b": 1, "d": 64}, metric, _machines()[0]
        )
        assert found.value.shape == lengths.shape
        assert found.value[0] == found.value[2] > 0
