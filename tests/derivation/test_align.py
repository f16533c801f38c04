"""Loops found in operator sequences, on made-up programs whose loops are known."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from costlab.derivation.align import PEEL, Alignment, align, first_difference, plain_module
from costlab.errors import DerivationError
from costlab.trace.records import OpRecord, Trace

TRIPS = (7, 8, 10, 11)


@dataclass(frozen=True)
class Repeat:
    """``first`` body, then ``body`` for the passes between, then ``last`` body."""

    body: str
    first: str = ""
    last: str = ""
    offset: int = 0

    def run(self, trip: int) -> str:
        ends = bool(self.first) + bool(self.last)
        return self.first + self.body * (trip + self.offset - ends) + self.last


Program = tuple[str | Repeat, ...]


def written(program: Program, trip: int) -> str:
    """The program's operators as letters, unrolled."""
    return "".join(p if isinstance(p, str) else p.run(trip) for p in program)


def trace_of(letters: str, trip: int, where: str = "") -> Trace:
    ops = [
        OpRecord(
            op=f"aten.{letter}.default", args={}, outs=(), module="", phase="forward",
            reads=(), writes=(), new=(), where=f"{where}:{i}" if where else "",
        )
        for i, letter in enumerate(letters)
    ]  # fmt: skip
    return Trace({"n": trip}, ops, [])


def traces_of(program: Program, trips: tuple[int, ...] = TRIPS) -> list[Trace]:
    return [trace_of(written(program, trip), trip) for trip in trips]


def unrolled(alignment: Alignment, trace: int) -> list[int]:
    """Indices of one trace's operators in the order in which the alignment runs them."""
    found: list[int] = []
    slots = list(alignment.slots)
    while slots:
        count = sum(s.loop == slots[0].loop for s in slots) if slots[0].loop >= 0 else 1
        body, slots = slots[:count], slots[count:]
        for k in range(len(body[0].at[trace])):
            found.extend(s.at[trace][k] for s in body)
    return found


def check(alignment: Alignment, traces: list[Trace], trips: tuple[int, ...] = TRIPS) -> None:
    """Every operator is in one slot, in order; a slot is one operator; loops have the passes."""
    for number, trace in enumerate(traces):
        assert unrolled(alignment, number) == list(range(len(trace.ops)))
    for slot in alignment.slots:
        seen = {t.ops[i].op for t, at in zip(traces, slot.at, strict=True) for i in at}
        assert len(seen) == 1
        if slot.loop >= 0:
            passes = [trip + alignment.loops[slot.loop].offset - 2 * PEEL for trip in trips]
            assert [len(at) for at in slot.at] == passes
    for trip, trace in zip(trips, traces, strict=True):
        assert alignment.describes(trace, trip)
        assert not alignment.describes(trace, trip + 1) or not alignment.loops


@pytest.mark.parametrize(
    ("program", "periods"),
    [
        (("ab", Repeat("cde"), "f"), [3]),
        ((Repeat("ab"),), [2]),
        (("x", Repeat("ab")), [2]),
        ((Repeat("a"), "b"), [1]),
        (("i", Repeat("fgh"), "m", Repeat("uvwxy"), "e"), [3, 5]),
        (("i", Repeat("fg"), Repeat("gf"), "e"), [2, 2]),
        (("i", Repeat("ab", first="a", last="abc"), "z"), [2]),
        (("i", Repeat("abc", first="xbc"), "m", Repeat("pqr", last="pq"), "z"), [3, 3]),
        (("i", Repeat("abb"), "z"), [3]),
        (("i", Repeat("aab"), "z"), [3]),
        (("cc", Repeat("abcc"), "cc"), [4]),
        (("i", Repeat("ab", offset=-1), "z"), [2]),
        (("i", Repeat("ab", offset=1), "m", Repeat("ba", offset=-1)), [2, 2]),
        (("ab", Repeat("ab"), "ab"), [2]),
        (("i", Repeat("abab"), "z"), [4]),
    ],
    ids=[
        "one", "nothing else", "at the end", "one operator", "forward and backward", "adjacent",
        "peeled ends", "two with peeled ends", "pair inside", "pair first", "pair around",
        "a pass less", "a pass more and less", "neighbours like the body", "body of two halves",
    ],
)  # fmt: skip
def test_loops_are_found(program: Program, periods: list[int]) -> None:
    traces = traces_of(program)
    alignment = align(traces, TRIPS)
    check(alignment, traces)
    assert [loop.period for loop in alignment.loops] == periods
    lengths = [len(t.ops) for t in traces]
    # A body of two equal halves is one pass of it a trip, never two.
    assert sum(periods) == (lengths[-1] - lengths[0]) // (TRIPS[-1] - TRIPS[0])


def test_equal_sequences_need_no_loop() -> None:
    traces = [trace_of("abcabcabcabc", trip) for trip in TRIPS]
    alignment = align(traces, None)
    assert alignment.loops == ()
    assert [slot.at for slot in alignment.slots] == [((i,),) * len(TRIPS) for i in range(12)]


def test_the_ends_of_a_loop_are_slots_of_their_own() -> None:
    """First and last passes are literal: no gradient reaches the first, none is added to yet."""
    traces = traces_of(("i", Repeat("abc"), "z"))
    alignment = align(traces, TRIPS)
    inside = [s for s in alignment.slots if s.loop >= 0]
    assert len(inside) == 3
    assert len(alignment.slots) == 1 + 3 + 3 + 3 + 1
    assert [at[0] for at in inside[0].at] == [1 + 3 * PEEL] * len(TRIPS)


def test_runs_that_do_not_grow_are_no_loops() -> None:
    """Two clones in a row, or three layers of a fixed stack, are no passes."""
    traces = traces_of(("ccc", Repeat("abb"), "dddddddddd"))
    alignment = align(traces, TRIPS)
    check(alignment, traces)
    assert [loop.period for loop in alignment.loops] == [3]


words = st.text("abcd", min_size=1, max_size=4)
bodies = st.text("abcdef", min_size=1, max_size=5)
repeats = st.builds(
    Repeat,
    body=bodies,
    first=st.one_of(st.just(""), words),
    last=st.one_of(st.just(""), words),
    offset=st.sampled_from([-1, 0, 1]),
)
programs = st.lists(st.one_of(words, repeats), min_size=1, max_size=5).map(tuple)


@settings(max_examples=120)
@given(programs)
def test_any_program_of_loops_is_unrolled_to_itself(program: Program) -> None:
    assume(any(isinstance(part, Repeat) for part in program))
    traces = traces_of(program)
    alignment = align(traces, TRIPS)
    check(alignment, traces)


@settings(max_examples=40)
@given(programs, st.integers(12, 30))
def test_a_loop_describes_trip_counts_it_never_saw(program: Program, trip: int) -> None:
    alignment = align(traces_of(program), TRIPS)
    assert alignment.describes(trace_of(written(program, trip), trip), trip)


@pytest.mark.parametrize(
    ("letters", "operator"),
    [
        (("abcde", "abcde", "abxde", "abcde"), "aten.x.default"),
        (("abcde", "abcd", "abcde", "abcde"), "aten.e.default"),
        (("abcde", "abcdef", "abcde", "abcde"), "aten.f.default"),
    ],
)
def test_what_is_no_loop_names_operator_and_line(letters: tuple[str, ...], operator: str) -> None:
    traces = [trace_of(t, n, "model.py") for t, n in zip(letters, TRIPS, strict=True)]
    at = next(i for i, pair in enumerate(zip(*(t.ljust(6) for t in letters), strict=True))
              if len(set(pair)) > 1)  # fmt: skip
    for trips in (None, TRIPS):
        with pytest.raises(DerivationError, match="no loop") as caught:
            align(traces, trips)
        assert caught.value.operator == operator
        assert caught.value.where == f"model.py:{at}"


def test_passes_that_alternate_are_no_loop_of_one_size() -> None:
    traces = [trace_of("i" + "ab" * (n // 2) + "c" * (n % 2) + "z", n) for n in TRIPS]
    with pytest.raises(DerivationError):
        align(traces, TRIPS)


def test_first_difference() -> None:
    same, other, longer = trace_of("abc", 7), trace_of("axc", 7), trace_of("abcd", 7)
    found = first_difference([same, other])
    assert found is not None
    assert [record.op for record in found] == ["aten.b.default", "aten.x.default"]
    found = first_difference([same, longer])
    assert found is not None
    assert {record.op for record in found} == {"aten.d.default"}
    assert first_difference([same, same]) is None


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("layers.3.attention", "layers.#.attention"),
        ("0.1.2", "#.#.#"),
        ("block12.norm1", "block12.norm1"),
        ("", ""),
    ],
)
def test_numbers_of_repeated_submodules_are_equal(path: str, plain: str) -> None:
    assert plain_module(path) == plain
