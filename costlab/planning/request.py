"""What is asked of a server, the work of a pass, and the times that come of it, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from costlab.errors import SizeError
from costlab.i18n import _
from costlab.planning.model import ModelConfig
from costlab.planning.precision import FORMATS, Format

TERMS = {
    "TTFT": _("seconds from the start of a prompt's prefill to its first token; no queue"),
    "TPOT": _("seconds from one output token of a sequence to its next, at that concurrency"),
    "stall": _(
        "longest time between two tokens of a sequence, while another's prompt is prefilled"
    ),
    "throughput": _("output tokens per second of all sequences, prefill of new ones included"),
    "concurrency": _("sequences that are decoded at the same time"),
    "context": _("tokens of one sequence, prompt and output together"),
}
"""What the words of an answer mean."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a server, and how numbers are stored.

    Attributes:
        prompt, output: tokens of a request.
        weights: format of the layers' matrices; embeddings, head and norms stay in 16 bits.
        kv: format of keys, values and states.
        block: tokens of a paged block; what a sequence holds is rounded up to whole ones.
        share: of the memory that the server may use (vLLM's default).
        cached: tokens at the start of the prompt whose keys and values are there already.
        chunk: tokens of a prompt that go through with a decode step of the others; 0 for all.
        draft: a smaller model that guesses tokens, which the large one checks in one pass.
        guesses, acceptance: tokens it guesses at a time, and how likely each is kept.
    """

    prompt: int = 1024
    output: int = 256
    weights: Format = FORMATS["bf16"]
    kv: Format = FORMATS["bf16"]
    block: int = 16
    share: float = 0.9
    cached: int = 0
    chunk: int = 0
    draft: ModelConfig | None = None
    guesses: int = 4
    acceptance: float = 0.8

    def __post_init__(self) -> None:
        self._check_passes()
        if min(self.prompt, self.output, self.block) < 1 or not 0 < self.share <= 1:
            raise SizeError(
                _("no such request"),
                given=f"prompt={self.prompt}, output={self.output}, block={self.block}, "
                f"share={self.share}",
                allowed=_("at least one token each, and a share of the memory up to 1"),
            )

    def _check_passes(self) -> None:
        if not 0 <= self.cached < self.prompt or self.chunk < 0:
            raise SizeError(
                _("no such passes of a prompt"),
                given=f"prompt={self.prompt}, cached={self.cached}, chunk={self.chunk}",
                allowed=_("fewer cached tokens than the prompt has, and chunks of a token or more"),
            )
        if self.guesses < 1 or not 0 <= self.acceptance <= 1:
            raise SizeError(
                _("no such guesses"),
                given=f"guesses={self.guesses}, acceptance={self.acceptance}",
                allowed=_("at least one guess, kept with a probability from 0 to 1"),
            )

    @property
    def context(self) -> int:
        """Tokens of a finished request."""
        return self.prompt + self.output


@dataclass(frozen=True, slots=True)
class Pass:
    """Work of one pass over the weights on one device.

    Attributes:
        products, cores: FLOP of products with weights, and of attention between positions.
        state: bytes of keys, values and states that are read.
        tokens: that go through.
    """

    products: float
    cores: float
    state: float
    tokens: int

    def __add__(self, other: Pass) -> Pass:
        return Pass(self.products + other.products, self.cores + other.cores,
                    self.state + other.state, self.tokens + other.tokens)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timed:
    """Times of a server at a concurrency; ``first`` and ``token`` are seconds by cause."""

    first: dict[str, float]
    token: dict[str, float]
    ttft_s: float
    tpot_s: float
    stall_s: float
    tokens_per_s: float
