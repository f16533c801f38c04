"""How the passes of prompts and tokens follow one another, and what that makes of a server's times.

``plain`` prefills a prompt while the others wait. ``chunked`` lets a part of a prompt go through
with each decode step (Agrawal et al. 2023, SARATHI, section 4). ``guessed`` has a draft model
guess tokens that the large one checks in one pass (Leviathan et al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import ceil
from operator import add
from typing import TYPE_CHECKING

from costlab.planning.request import Timed

if TYPE_CHECKING:
    from costlab.planning.serving import Server


def expected_tokens(acceptance: float, guesses: int) -> float:
    """Tokens that one checking pass yields, of which the last is the large model's own.

    ``(1 - a^(c + 1)) / (1 - a)`` for c guesses, each kept with probability a (Leviathan et al.
    2023, equation 1).

    >>> expected_tokens(1.0, 4), expected_tokens(0.0, 4), expected_tokens(0.5, 1)
    (5.0, 1.0, 1.5)
    """
    return sum(acceptance**i for i in range(guesses + 1))


def plain(server: Server, sequences: int) -> Timed:
    """Prompts one after the other, then a token of each sequence at a time."""
    first, token = server.prefill(), server.decode(sequences)
    ttft, tpot = sum(first.values()), sum(token.values())
    output = server.request.output
    seconds = sequences * ttft + (output - 1) * tpot
    return Timed(first, token, ttft, tpot, ttft + tpot, sequences * output / seconds)


def guessed(server: Server, sequences: int) -> Timed:
    """The draft guesses c tokens, then one pass of the server over c + 1 positions checks them.

    The draft's own positions after the last kept one are dropped; what it holds is counted.
    """
    assert server.draft is not None
    draft, asked = server.draft, server.request
    drafted = sum(draft.decode(sequences).values()) * asked.guesses
    checked = server.seconds(server.decode_pass(sequences, asked.guesses + 1))
    made = expected_tokens(asked.acceptance, asked.guesses)
    token = {name: s / made for name, s in (checked | {"draft": drafted}).items()}
    first = server.prefill() | {"draft": sum(draft.prefill().values())}
    ttft, tpot = sum(first.values()), sum(token.values())
    seconds = sequences * ttft + (asked.output - 1) * tpot
    return Timed(first, token, ttft, tpot, ttft + made * tpot, sequences * asked.output / seconds)


def chunked(server: Server, sequences: int) -> Timed:
    """Every step decodes, and takes a chunk of one prompt along while there is one.

    When each of B sequences is replaced once, B prompts of k chunks and output - 1 tokens of each
    sequence go through: max(B k, k + s) steps, B k of them with a chunk, where s steps make those
    tokens. With a draft model a step guesses and checks, and the draft reads the chunks too.
    """
    asked = server.request
    starts = range(asked.cached, asked.prompt, asked.chunk)
    made = expected_tokens(asked.acceptance, asked.guesses) if server.draft else 1.0
    k, decodes = len(starts), ceil((asked.output - 1) / made)
    steps = max(sequences * k, k + decodes)
    decoding = min(round(sequences * decodes / steps), sequences - 1)  # one slot has the prompt
    mixed = [_step(server, decoding, (at, min(at + asked.chunk, asked.prompt))) for at in starts]
    token = _step(server, sequences)
    with_chunk = [_sum(one) for one in mixed]
    ttft = sum(with_chunk)
    seconds = sequences * ttft + (steps - sequences * k) * _sum(token)
    first = {name: sum(one[name] for one in mixed) for name in token}
    mean = seconds / steps if decodes else _sum(token)
    return Timed(
        first, {name: s / made for name, s in token.items()}, ttft, mean / made, max(with_chunk),
        sequences * asked.output / seconds,
    )  # fmt: skip


def _step(server: Server, decoding: int, chunk: tuple[int, int] | None = None) -> dict[str, float]:
    """Seconds by cause of one step of ``decoding`` sequences and positions of a prompt."""
    draft, asked = server.draft, server.request
    positions = asked.guesses + 1 if draft else 1
    parts = [server.prompt_pass(*chunk)] if chunk else []
    parts += [server.decode_pass(decoding, positions)] if decoding else []
    found = server.seconds(reduce(add, parts))
    if draft is None:
        return found
    guessing = _sum(draft.decode(decoding)) * asked.guesses if decoding else 0.0
    reading = _sum(draft.seconds(draft.prompt_pass(*chunk))) if chunk else 0.0
    return found | {"draft": guessing + reading}


def _sum(seconds: Mapping[str, float]) -> float:
    return sum(seconds.values())
