"""The public way to a service: a model, devices and requests to rates, and what fits a memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from costlab.hardware.catalogue import load_profile
from costlab.i18n import _
from costlab.planning.bundled import named, names
from costlab.planning.cluster import Cluster, Rates, cluster, on_each
from costlab.planning.model import ModelConfig
from costlab.planning.precision import FORMATS
from costlab.planning.request import TERMS, Request
from costlab.planning.serving import Server, best, concurrencies, servers
from costlab.planning.totals import model_parameters

SCHEMA = "costlab.plan/1"
_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Service:
    """The best server found, with how it does at other concurrencies."""

    server: Server
    chosen: int
    cluster: Cluster

    @property
    def replicas(self) -> int:
        """Copies of the server on the devices."""
        return self.cluster.devices // self.server.tp

    def assumptions(self) -> tuple[str, ...]:
        """What the figures rest on that was not given."""
        context, request = self.server.model.context, self.server.request
        found = [
            *self.cluster.assumptions, *self.server.model.notes,
            _("rates of products, memory and links as their makers state them; starting of "
              "kernels and the server's own work are left out: times are lower bounds"),
            _("{share:.0%} of the memory, of which 1.5 GiB for context and one pass").format(
                share=request.share),
        ]  # fmt: skip
        found += _passes(request)
        if context and request.context > context:
            found.append(
                _("the model was made for {n} tokens, a request has {m}").format(
                    n=context, m=request.context)
            )  # fmt: skip
        return tuple(found)

    def rows(self) -> list[dict[str, Any]]:
        """One row per concurrency; rates and prices of all replicas."""
        price = self.cluster.rates.price_per_hour
        found = []
        for sequences in concurrencies(self.server.most_sequences):
            row = self.server.row(sequences)
            rate = row.pop("tokens_per_s") * self.replicas
            cost = None if price is None else price * self.cluster.devices / _SECONDS / rate * 1e6
            found.append(row | {"tokens_per_s": rate, "cost_per_million_tokens": cost})
        return found

    def to_json(self) -> dict[str, Any]:
        """The answer as plain data with the schema."""
        server, request = self.server, self.server.request
        return {
            "schema": SCHEMA,
            "job": "serve",
            "model": server.model.name,
            "parameters": model_parameters(server.model),
            "device": self.cluster.profile.name,
            "gpus": self.cluster.devices,
            "tp": server.tp,
            "replicas": self.replicas,
            "prompt": request.prompt,
            "output": request.output,
            "cached": request.cached,
            "chunk": request.chunk or None,
            "draft": request.draft
            and {
                "model": request.draft.name,
                "guesses": request.guesses,
                "acceptance": request.acceptance,
            },
            "weights": request.weights.name,
            "kv": request.kv.name,
            "capacity_bytes": server.memory,
            "weights_bytes": float(server.weight_bytes),
            "free_bytes": server.free_bytes,
            "block_tokens": request.block,
            "blocks": server.blocks,
            "max_concurrency": server.most_sequences,
            "max_context": server.longest,
            "model_context": server.model.context or None,
            "currency": self.cluster.rates.currency,
            "chosen_concurrency": self.chosen,
            "rows": self.rows(),
            "terms": dict(TERMS),
            "assumptions": list(self.assumptions()),
        }


@dataclass(frozen=True, slots=True)
class Offer:
    """How one cluster serves a model, or why it does not."""

    device: str
    gpus: int
    service: Service | None
    reason: str = ""

    @property
    def row(self) -> dict[str, Any] | None:
        """The chosen concurrency's figures, with the division."""
        if self.service is None:
            return None
        found = next(r for r in self.service.rows() if r["concurrency"] == self.service.chosen)
        return {"replicas": self.service.replicas, "tp": self.service.server.tp} | found

    @property
    def mark(self) -> float:
        """Cost of a token, or devices per token and second without a price; less is better."""
        row = self.row
        assert row is not None
        cost: float | None = row["cost_per_million_tokens"]
        return float(self.gpus / row["tokens_per_s"]) if cost is None else cost

    def to_json(self) -> dict[str, Any]:
        """The offer as plain data."""
        return {"device": self.device, "gpus": self.gpus, "reason": self.reason or None,
                "row": self.row}  # fmt: skip


def services(
    model: str | ModelConfig,
    machines: Sequence[tuple[str, int, Rates | None]],
    request: Request,
    **limits: Any,
) -> list[Offer]:
    """How each cluster (device, count, rates) serves a model; ``limits`` as for :func:`serve`.

    Raises:
        InputError: if none of them can.
    """
    found = on_each(
        machines,
        lambda device, gpus, rates: serve(model, device, gpus, request, rates=rates, **limits),
        _("none of the clusters serves the model"),
    )
    return [Offer(*one) for one in found]


def _passes(request: Request) -> list[str]:
    """What is assumed of drafts, chunks and cached tokens."""
    found = []
    if request.draft is not None:
        text = _("{draft} guesses {n} tokens at a time, each kept with probability {p:.0%}")
        found.append(text.format(draft=request.draft.name, n=request.guesses, p=request.acceptance))
    if request.chunk:
        text = _("a step takes up to {n} tokens of one prompt along with the others' tokens")
        found.append(text.format(n=request.chunk))
    if request.cached:
        text = _("keys and values of the first {n} tokens are in the device's memory; each "
                 "request has its own")  # fmt: skip
        found.append(text.format(n=request.cached))
    return found


def serve(
    model: str | ModelConfig,
    device: str,
    gpus: int = 1,
    request: Request | None = None,
    *,
    tpot_s: float | None = None,
    ttft_s: float | None = None,
    per_node: int | None = None,
    link_bytes_per_s: float | None = None,
    rates: Rates | None = None,
    memory_bytes: float | None = None,
) -> Service:
    """How ``gpus`` devices serve a model: the division and concurrency of most tokens per second.

    Args:
        tpot_s, ttft_s: limits that the chosen concurrency keeps.

    Raises:
        InputError: if a name is unknown, nothing fits, or no choice keeps the limits.
    """
    config = named(model) if isinstance(model, str) else model
    machines = cluster(
        load_profile(device), gpus, per_node=per_node, link_bytes_per_s=link_bytes_per_s,
        rates=rates,
    )  # fmt: skip
    found = servers(config, machines, request or Request(), memory_bytes)
    server, sequences = best(found, tpot_s, ttft_s)
    return Service(server, sequences, machines)


@dataclass(frozen=True, slots=True)
class Fit:
    """A bundled model in a memory: the widest weights that fit and the longest sequence then."""

    name: str
    parameters: int
    weights: str
    weights_bytes: float
    longest: int | None
    at_once: int


def what_fits(memory_bytes: float, request: Request | None = None) -> list[Fit]:
    """Bundled models of which one device of ``memory_bytes`` serves a request, largest first.

    Each with the widest of 16, 8 and 4 bits a weight that fits.
    """
    asked = request or Request()
    machine = cluster(load_profile("H100-80G-SXM"), 1)
    found = []
    for name in names():
        model = named(name)
        for kept in ("bf16", "fp8", "int4-g128"):
            wanted = replace(asked, weights=FORMATS[kept])
            server = Server(model, model, machine, 1, wanted, memory_bytes)
            if not model.causal or server.most_sequences < 1:
                continue
            found.append(
                Fit(name, model_parameters(model), kept, float(server.weight_bytes),
                    server.longest, server.most_sequences)
            )  # fmt: skip
            break
    return sorted(found, key=lambda fit: -fit.parameters)
