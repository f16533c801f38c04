"""How the passes of prompts and tokens follow one another, and what that makes of a server's times.

``plain`` prefills a prompt while the others wait. ``chunked`` lets a part of a prompt go through
with each decode step (Agrawal et al. 2023, SARATHI, section 4). ``guessed`` has a draft model
guess tokens that the large one checks in one pass (Leviathan et al. 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
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
    sequence go through: max(B k, k + output - 1) steps, B k of them with a chunk.
    """
    asked = server.request
    starts = range(asked.cached, asked.prompt, asked.chunk)
    k, tokens = len(starts), asked.output - 1
    steps = max(sequences * k, k + tokens)
    decoding = min(round(sequences * tokens / steps), sequences - 1)  # one slot has the prompt
    parts = [server.prompt_pass(at, min(at + asked.chunk, asked.prompt)) for at in starts]
    beside = server.decode_pass(decoding) if decoding else None
    mixed = [server.seconds(part + beside if beside else part) for part in parts]
    token = server.decode(sequences)
    tpot = sum(token.values())
    with_chunk = [_sum(one) for one in mixed]
    ttft = sum(with_chunk)
    seconds = sequences * ttft + (steps - sequences * k) * tpot
    first = {name: sum(one[name] for one in mixed) for name in token}
    mean = seconds / steps if tokens else tpot
    return Timed(first, token, ttft, mean, max(with_chunk), sequences * asked.output / seconds)


def _sum(seconds: Mapping[str, float]) -> float:
    return sum(seconds.values())
