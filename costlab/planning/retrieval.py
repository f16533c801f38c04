"""Serving with retrieval against a longer context: passages in the prompt, or all documents.

A prompt is k passages of m tokens and the question behind them. Their keys and values depend on
the tokens before them only, so that a beginning that does not change can be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlab.errors import InputError, SizeError
from costlab.i18n import _
from costlab.planning.model import ModelConfig
from costlab.planning.request import Request
from costlab.planning.service import Service, serve


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What stands before a question.

    Attributes:
        passages, tokens: k passages of m tokens.
        documents: tokens of everything there is, as the context that needs no retrieval; 0 for no
            comparison.
    """

    passages: int
    tokens: int
    documents: int = 0

    def __post_init__(self) -> None:
        if min(self.passages, self.tokens) < 1 or self.documents < 0:
            raise SizeError(
                _("no such passages"),
                given=f"passages={self.passages}, tokens={self.tokens}, documents={self.documents}",
                allowed=_("at least one of a token"),
            )

    def ways(self, question: Request) -> dict[str, Request]:
        """The requests that are compared, by name; ``question`` is one without passages."""
        found: dict[str, Request] = {}
        sizes = {_("passages"): self.passages * self.tokens, _("all documents"): self.documents}
        for name, tokens in sizes.items():
            if tokens:
                whole = replace(question, prompt=tokens + question.prompt)
                found[name] = whole
                found[_("{what}, cached").format(what=name)] = replace(whole, cached=tokens)
        return found


@dataclass(frozen=True, slots=True)
class Way:
    """One way to answer: its service, or why there is none."""

    name: str
    request: Request
    service: Service | None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """The way as plain data."""
        chosen = None
        if self.service is not None:
            rows = self.service.rows()
            chosen = next(r for r in rows if r["concurrency"] == self.service.chosen)
        return {"name": self.name, "prompt": self.request.prompt, "cached": self.request.cached,
                "reason": self.reason or None, "best": chosen}  # fmt: skip


def compare_ways(
    model: str | ModelConfig,
    device: str,
    gpus: int,
    question: Request,
    retrieval: Retrieval,
    **limits: Any,
) -> list[Way]:
    """How the devices answer with passages and with all documents, each cached or not.

    Args:
        limits: those of :func:`costlab.planning.service.serve`.
    """
    found = []
    for name, request in retrieval.ways(question).items():
        try:
            found.append(Way(name, request, serve(model, device, gpus, request, **limits)))
        except InputError as error:
            found.append(Way(name, request, None, str(error)))
    return found
