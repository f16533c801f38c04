"""Edges and paths against brute force, and the committed data against what is known of them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from costlab.errors import UnknownNameError
from costlab.formulas import structure
from costlab.formulas.structure import Mask, Structure, distances, edges, load, paths


def _random(rng: random.Random, n: int) -> Mask:
    return tuple(tuple(rng.random() < 0.2 for _ in range(n)) for _ in range(n))


def test_distances_are_the_least_power_of_the_mask(seed: int) -> None:
    rng = random.Random(seed)
    for n in (1, 5, 9):
        rows = _random(rng, n)
        matrix = np.array(rows, dtype=int)
        powers = [np.linalg.matrix_power(matrix, p) > 0 for p in range(1, n + 1)]
        found = distances(rows)
        for i, j in np.ndindex(n, n):
            first = next((p for p, power in enumerate(powers, 1) if power[i, j]), None)
            assert found[i][j] == first, rows


def test_a_ring_takes_half_its_length_and_a_bridge_two() -> None:
    ring = tuple(tuple((i - j) % 9 in (0, 1, 8) for j in range(9)) for i in range(9))
    bridge = tuple(tuple(0 in (i, j) or i == j for j in range(7)) for i in range(7))

    assert paths(ring).diameter == 4
    assert (paths(bridge).pairs, paths(bridge).diameter) == (42, 2)
    assert paths(bridge).mean == pytest.approx((12 + 30 * 2) / 42)
    assert structure.bridge(4, 512) == 2048
    assert structure.missed(0.25, 3) == pytest.approx(27 / 64)


def _of(name: str, *options: str) -> Structure:
    return next(s for s in load(name) if s.options == options)


@pytest.mark.parametrize(
    ("name", "options", "law", "order"),
    [
        ("full_attention", (), "1", "1"),
        ("rnn", (), "1", "n"),
        ("lstm", (), "1", "n"),
        ("gru", (), "1", "n"),
        ("sliding_window", (), "ceiling((n - 1)/w)", "1"),
        ("sliding_window", ("causal",), "ceiling((n - 1)/(w - 1))", "1"),
        ("feed_forward", (), "0", "1"),
    ],
)
def test_known_laws(name: str, options: tuple[str, ...], law: str, order: str) -> None:
    found = _of(name, *options)

    assert (found.layers_law, found.chain_order) == (law, order)


def test_edges_have_their_closed_forms() -> None:
    for full, causal, window in zip(
        _of("full_attention").patterns,
        _of("full_attention", "causal").patterns,
        _of("sliding_window").patterns,
        strict=True,
    ):
        n, w = window.sizes["n"], window.sizes["w"]
        assert edges(full.rows) == n**2
        assert edges(causal.rows) == n * (n + 1) // 2
        assert edges(window.rows) == n * (2 * w + 1) - w * (w + 1)


def test_unknown_name() -> None:
    with pytest.raises(UnknownNameError, match="full_attention"):
        load("ful_attention")
