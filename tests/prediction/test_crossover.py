"""Crossovers, ceilings and terms against brute force and hand arithmetic."""

from __future__ import annotations

import pytest

from costlab.errors import InputError, SizeError
from costlab.formulas.record import Derivation
from costlab.prediction.api import predict
from costlab.prediction.crossover import ceiling, cheaper, crossovers, term_turn
from tests.prediction.machines import flat_machine
from tests.prediction.programs import attention, b, block, d, n, one_term, recurrence, window


def test_a_term_of_a_block_overtakes_the_rest_at_six_d() -> None:
    # 24bnd² + 4bn²d: equal where 4n²d = 24nd².
    turn = term_turn(block(), "n", {"b": 3, "d": 40})

    assert turn is not None
    assert turn.exact == "6*d"
    assert turn.at == pytest.approx(240)


def test_a_term_of_the_matrix_products_alone() -> None:
    # Attention's products are 8bnd² + 4bn²d without the softmax: equal at n = 2d.
    turn = term_turn(attention(), "n", {"b": 1, "d": 64}, metric="flop_matmul")

    assert turn is not None
    assert turn.exact == "2*d"


def test_a_term_of_the_peak_is_taken_from_the_candidate_that_rules_there() -> None:
    # Peak of attention: 16d² + 16bnd + 8bhn² bytes; 8·4·n² = 16·64² + 16·n·64 has n = 64.
    turn = term_turn(attention(), "n", {"b": 1, "d": 64}, metric="memory")

    assert turn is not None and turn.at == pytest.approx(64)


def test_crossover_in_flop_equals_brute_force() -> None:
    # Attention 8bnd² + 4bn²d + 5bhn² against the recurrence 4bnd² + bnd.
    sizes = {"b": 2, "d": 24, "h": 4}
    other = one_term("other", 9000 * b * n * d)

    (found,) = crossovers(attention(), other, "n", sizes, metric="flop")

    def flop(program: Derivation, value: int) -> float:
        full = program.complete({**sizes, "n": value})
        expr = program.classes[0].cost["flop"].expr
        assert expr is not None
        return float(expr.evaluate(full))

    assert found.at == next(v for v in range(1, 10_000) if flop(attention(), v) > flop(other, v))
    assert found.cheaper == "other"
    assert found.interval == (found.at - 1, found.at)


def test_time_crossover_has_the_interval_of_both_machines_spreads() -> None:
    # Seconds: n² against 1000 n, both known to a factor: they overlap from 500 to 2000.
    machine = flat_machine(flop_per_s=1.0, spread={"": (0.5, 1.0)})

    (found,) = crossovers(
        one_term("square", n * n), one_term("line", 1000 * n), "n", {"b": 1, "d": 1}, machine
    )

    assert (found.at, found.cheaper) == (1001, "line")
    low, high = found.interval
    assert low == 499
    assert high == 2001


def test_no_crossover_gives_none() -> None:
    assert crossovers(recurrence(), attention(), "n", {"b": 1, "d": 64}, metric="flop") == []


def test_where_the_order_never_changes_the_cheaper_is_known() -> None:
    sizes = {"b": 1, "d": 64}

    assert cheaper(recurrence(), attention(), "n", sizes, metric="flop") == "recurrence"
    assert cheaper(attention(), recurrence(), "n", sizes, metric="flop") == "recurrence"
    assert cheaper(attention(), attention(), "n", sizes, metric="flop") == ""


def test_crossover_respects_the_domain() -> None:
    sizes = {"b": 1, "d": 8, "h": 4, "w": 12}

    (found,) = crossovers(attention(), window(), "n", sizes, metric="flop")

    # 512n + 52n² against 1152n: equal at n = 12.3, and the next multiple of w = 12 is 24.
    assert (found.at, found.cheaper) == (24, "window")


def test_ceilings_and_which_binds() -> None:
    machine = flat_machine(flop_per_s=1e6, bytes_per_s=1e30)
    sizes = {"b": 1, "d": 64}

    memory = ceiling(attention(), "n", sizes, machine, fits_bytes=1e6)
    both = ceiling(attention(), "n", sizes, machine, fits_bytes=1e6, within_s=5.0)

    def peak(v: int) -> int:
        found = predict(attention(), {**sizes, "n": v}, machine).peak_bytes
        assert found is not None
        return found

    assert memory.at is not None
    assert peak(memory.at) <= 1e6 < peak(memory.at + 1)
    assert memory.binds == "memory"
    assert both.at is not None
    assert predict(attention(), {**sizes, "n": both.at}, machine).time_s <= 5.0
    assert predict(attention(), {**sizes, "n": both.at + 1}, machine).time_s > 5.0
    assert both.binds == "time"
    assert both.by == {"memory": memory.at, "time": both.at}


def test_ceiling_steps_with_the_window() -> None:
    found = ceiling(window(), "n", {"b": 1, "d": 8, "w": 10}, fits_bytes=12 * 10 * 1234)

    assert found.at == 1230


def test_nothing_fits_and_everything_fits() -> None:
    sizes = {"b": 1, "d": 64}

    assert ceiling(attention(), "n", sizes, fits_bytes=10).at is None
    assert ceiling(attention(), "n", sizes, fits_bytes=10).binds == "memory"
    with pytest.raises(InputError, match="--fits"):
        ceiling(attention(), "n", sizes)


def test_unknown_variable_and_metric() -> None:
    with pytest.raises(SizeError, match="allowed: b, n, d"):
        crossovers(recurrence(), recurrence(), "q", {"b": 1, "d": 8}, metric="flop")
    with pytest.raises(InputError, match="flop"):
        crossovers(recurrence(), recurrence(), "n", {"b": 1, "d": 8}, metric="speed")


def test_crossover_over_width_keeps_heads_whole() -> None:
    found = crossovers(
        attention(), one_term("other", 40_000_000 * b + 0 * d), "d", {"b": 1, "n": 100},
        metric="flop",
    )  # fmt: skip

    assert len(found) == 1
    assert found[0].at % 4 == 0
