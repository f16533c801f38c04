"""Lines up the operator sequences of several traces of one program, loops re-rolled.

Where the sequences are equal every operator is its own slot. Where they grow with one size (the
trip count), the repeated runs are found from the points at which a longer and a shorter sequence
diverge; each run's first and last passes become literal slots of their own, since they differ
(no gradient reaches the initial state, nothing has been accumulated yet), and the passes between
share one slot per operator of the body.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from costlab.errors import DerivationError
from costlab.trace.records import OpRecord, Trace

_MOST_LOOPS = 8
PEEL = 1  # passes at each end that are kept as literals
_DIGITS = re.compile(r"(?<![^. ])\d+(?![^. ])")


@dataclass(frozen=True, slots=True)
class Slot:
    """One operator of the aligned program.

    ``at[i]`` is the operator's index in trace i (literal), or the indices of the passes
    ``PEEL .. trips-1-PEEL`` in order (inside a loop, where ``loop`` is the loop's number).
    """

    at: tuple[tuple[int, ...], ...]
    loop: int = -1


@dataclass(frozen=True, slots=True)
class LoopRun:
    """A repeated run: ``offset`` passes more than the trip count has (may be negative)."""

    period: int
    offset: int


@dataclass(frozen=True, slots=True)
class _Literal:
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    body: tuple[int, ...]
    offset: int


_Piece = _Literal | _Repeat


@dataclass(frozen=True, slots=True)
class Alignment:
    """Slots in program order; slots of one loop body are adjacent.

    ``pieces`` and ``numbers`` (of tokens) rebuild the operator sequence for any trip count.
    """

    slots: tuple[Slot, ...]
    loops: tuple[LoopRun, ...]
    pieces: tuple[_Piece, ...] = ()
    numbers: Mapping[Hashable, int] = field(default_factory=dict)

    def describes(self, trace: Trace, trip: int) -> bool:
        """Whether ``trace`` runs this program's sequence of operators."""
        return [self.numbers.get(token(r), -1) for r in trace.ops] == _expand(self.pieces, trip)


def plain_module(path: str) -> str:
    """A module path with the numbers of repeated submodules made equal: "layers.#.attention"."""
    return _DIGITS.sub("#", path)


def token(record: OpRecord) -> tuple[Hashable, ...]:
    """The record's token with the numbers of repeated submodules made equal."""
    op, module, *rest = record.token()
    return (op, plain_module(str(module)), *rest)


def tokenise(traces: Sequence[Trace]) -> tuple[list[list[int]], dict[Hashable, int]]:
    """Tokens as small integers, the same for equal tokens in all traces."""
    numbers: dict[Hashable, int] = {}
    return [[numbers.setdefault(token(r), len(numbers)) for r in t.ops] for t in traces], numbers


def first_difference(traces: Sequence[Trace]) -> tuple[OpRecord, OpRecord] | None:
    """The first pair of operators at which two traces of equal trip count differ, if any."""
    sequences, _ = tokenise(traces)
    for other, sequence in zip(traces[1:], sequences[1:], strict=True):
        for i, (a, b) in enumerate(zip(sequences[0], sequence, strict=False)):
            if a != b:
                return traces[0].ops[i], other.ops[i]
        if len(sequences[0]) != len(sequence):
            longer = traces[0] if len(sequences[0]) > len(sequence) else other
            record = longer.ops[min(len(sequences[0]), len(sequence))]
            return record, record
    return None


def align(traces: Sequence[Trace], trips: Sequence[int] | None) -> Alignment:
    """The first of :func:`alignments`: that with the fewest loops."""
    return next(alignments(traces, trips))


def alignments(traces: Sequence[Trace], trips: Sequence[int] | None) -> Iterator[Alignment]:
    """Ways to line up ``traces``, fewest loops first; dimensions decide which one holds.

    ``trips`` are the traces' trip counts where their sequences grow with one size. Where a body
    is itself made of equal parts (an optimizer's update of each parameter), several loops of one
    part each explain the sequences as well as one loop of all.

    Raises:
        DerivationError: if the sequences are neither equal nor equal up to repeated runs.
    """
    sequences, numbers = tokenise(traces)
    if all(s == sequences[0] for s in sequences):
        whole = [_Literal(tuple(sequences[0]))]
        yield replace(_slots(whole, [0] * len(traces)), numbers=numbers)
        return
    found: list[list[_Piece]] = []
    if trips is None:
        raise _not_aligned(traces)
    for most in range(1, _MOST_LOOPS + 1):
        pieces = _find_pieces(sequences, trips, most)
        if pieces is not None and pieces not in found:
            found.append(pieces)
            yield replace(_slots(pieces, trips), numbers=numbers)
    if not found:
        raise _not_aligned(traces)


def _not_aligned(traces: Sequence[Trace]) -> DerivationError:
    found = first_difference(traces)
    operator, where = (found[1].op, found[1].where) if found else ("", "")
    return DerivationError(
        "the operator sequence changes with the sizes or the data in a way that is no loop",
        operator=operator,
        where=where,
    )


def _find_pieces(
    sequences: list[list[int]], trips: Sequence[int], most: int
) -> list[_Piece] | None:
    """Pieces with at most ``most`` loops that rebuild every sequence."""
    longest = max(range(len(trips)), key=lambda i: trips[i])
    for shortest in sorted(range(len(trips)), key=lambda i: trips[i]):
        if trips[shortest] == trips[longest]:
            break
        pieces = _split(
            sequences[longest], sequences[shortest], trips[longest], trips[shortest], most
        )
        if pieces is not None and all(
            _expand(pieces, trip) == sequence
            for trip, sequence in zip(trips, sequences, strict=True)
        ):
            return pieces
    return None


def _expand(pieces: Sequence[_Piece], trip: int) -> list[int]:
    tokens: list[int] = []
    for piece in pieces:
        if isinstance(piece, _Literal):
            tokens.extend(piece.tokens)
        else:
            tokens.extend(piece.body * (trip + piece.offset))
    return tokens


def _split(
    long: list[int], short: list[int], many: int, few: int, most: int
) -> list[_Piece] | None:
    """Pieces that explain both sequences; depth-first over the periods a run could have."""
    extra = many - few

    def solve(x: int, y: int, start: int, most: int) -> list[_Piece] | None:
        """Explain ``long[x:]`` and ``short[y:]``; ``long[start:x]`` is literal so far."""
        i = x
        while i < len(long) and i - x + y < len(short) and long[i] == short[i - x + y]:
            i += 1
        j = i - x + y
        if i == len(long) and j == len(short):
            return [_Literal(tuple(long[start:]))]
        growth, uneven = divmod(len(long) - i - (len(short) - j), extra)
        if uneven or growth < 1 or most < 1:
            return None
        # The first divergence may lie later than the end of the shorter run (what follows may
        # begin like the body), never before it. The last loop takes all growth that is left.
        for period in range(growth if most == 1 else 1, growth + 1):
            jump = period * extra
            if i + jump > len(long) or i - period < start:
                continue
            if any(long[k] != long[k + period] for k in range(i - period, i + jump - period)):
                continue
            left = i - period
            while left > start and long[left - 1] == long[left - 1 + period]:
                left -= 1
            right = i + jump
            while right < len(long) and long[right] == long[right - period]:
                right += 1
            passes = (right - left) // period
            if passes < many // 2 or passes - extra < 2 * PEEL + 1:
                continue
            end = left + passes * period
            if short[left - i + j : end - jump - i + j] != long[left : end - jump]:
                continue  # the shorter run ends before these passes do
            rest = solve(end, end - i + j - jump, end, most - 1)
            if rest is None:
                continue
            return [
                _Literal(tuple(long[start:left])),
                _Repeat(tuple(long[left : left + period]), passes - many),
                *rest,
            ]
        return None

    return solve(0, 0, 0, most)


def _slots(pieces: Sequence[_Piece], trips: Sequence[int]) -> Alignment:
    slots: list[Slot] = []
    loops: list[LoopRun] = []
    cursor = [0] * len(trips)

    def literal(count: int) -> None:
        for _ in range(count):
            slots.append(Slot(tuple((c,) for c in cursor)))
            for i in range(len(cursor)):
                cursor[i] += 1

    for piece in pieces:
        if isinstance(piece, _Literal):
            literal(len(piece.tokens))
            continue
        period = len(piece.body)
        literal(PEEL * period)
        inner = [trip + piece.offset - 2 * PEEL for trip in trips]
        number = len(loops)
        loops.append(LoopRun(period, piece.offset))
        for position in range(period):
            slots.append(
                Slot(
                    tuple(
                        tuple(c + position + k * period for k in range(count))
                        for c, count in zip(cursor, inner, strict=True)
                    ),
                    number,
                )
            )
        for i, count in enumerate(inner):
            cursor[i] += count * period
        literal(PEEL * period)
    return Alignment(tuple(slots), tuple(loops), tuple(pieces))
