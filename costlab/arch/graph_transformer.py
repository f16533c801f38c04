"""A graph transformer's layer: attention along given edges alone, with Laplacian positions.

Dwivedi and Bresson 2020, "A generalization of transformer networks to graphs", sections 3.1 and
3.2, https://arxiv.org/abs/2012.09699, without edge features.

Shapes: b batch, n nodes, d width, h heads, k = d/h, f feed-forward width, E edges, r positions.
    x, y       [b, n, d], node features on one graph
    sources    [E], node that is read; targets [E], node that reads it
    positions  [n, r], eigenvectors of the graph's Laplacian
    scores     [b, E, h], one per edge and head

Edges and positions are the module's own, since a graph serves many inputs. A node without edges
gets zeros from the attention. 4 d**2 + 2 d f + r d + 6 d + f parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from costlab.arch import feed_forward, layer_norm
from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Width ``d`` with ``h`` heads, inner width ``f``, ``r`` Laplacian positions."""

    d: int
    h: int
    f: int
    r: int

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(f=self.f, r=self.r)


def laplacian_positions(sources: Tensor, targets: Tensor, n: int, r: int) -> Tensor:
    """The ``r`` eigenvectors after the first of the normalised Laplacian, [n, r], in float64.

    Edges count in both directions. It takes of the order of n**3, once per graph.
    """
    joined = torch.zeros(n, n, dtype=torch.float64)
    joined[sources, targets] = joined[targets, sources] = 1
    joined.fill_diagonal_(0)
    scale = joined.sum(-1).clamp_min(1).rsqrt()
    laplacian = torch.eye(n, dtype=torch.float64) - scale[:, None] * joined * scale
    vectors: Tensor = torch.linalg.eigh(laplacian).eigenvectors
    return vectors[:, 1 : r + 1]


class EdgeAttention(nn.Module):
    """Softmax over the edges that end in a node; ``q``, ``k``, ``v`` are [b, n, h, k]."""

    sources: Tensor
    targets: Tensor

    def __init__(self, sources: Tensor, targets: Tensor) -> None:
        super().__init__()
        self.register_buffer("sources", sources)
        self.register_buffer("targets", targets)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        b, n, h, size = q.shape
        scores = (q.index_select(1, self.targets) * k.index_select(1, self.sources)).sum(-1)
        scores = scores * size**-0.5
        with torch.no_grad():
            ends = self.targets[:, None].expand(scores.shape)
            largest = scores.new_full((b, n, h), -torch.inf)
            largest = largest.scatter_reduce_(1, ends, scores, "amax")
        shares = (scores - largest.index_select(1, self.targets)).exp()
        read = shares[..., None] * v.index_select(1, self.sources)
        total = torch.zeros_like(largest).index_add(1, self.targets, shares)
        mixed = torch.zeros_like(q).index_add(1, self.targets, read)
        # A node's largest edge has a share of 1 here, so only nodes without edges are below.
        return mixed / total.clamp_min(1)[..., None]


class GraphTransformer(nn.Module):
    """norm(x + attention(x)), then norm(x + feed_forward(x)), of features with positions."""

    positions: Tensor

    def __init__(self, config: Config, sources: Tensor, targets: Tensor, positions: Tensor) -> None:
        super().__init__()
        d, self.heads = config.d, config.h
        self.register_buffer("positions", positions)
        self.place = nn.Linear(config.r, d, bias=False)
        self.q = nn.Linear(d, d, bias=False)
        self.k = nn.Linear(d, d, bias=False)
        self.v = nn.Linear(d, d, bias=False)
        self.o = nn.Linear(d, d)
        self.core = EdgeAttention(sources, targets)
        self.norm_attention = layer_norm.LayerNorm(layer_norm.Config(d))
        self.feed_forward = feed_forward.FeedForward(feed_forward.Config(d, config.f, bias=True))
        self.norm_feed_forward = layer_norm.LayerNorm(layer_norm.Config(d))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.place(self.positions)
        heads = (self.heads, x.shape[-1] // self.heads)
        parts = (torch.unflatten(part(x), -1, heads) for part in (self.q, self.k, self.v))
        x = self.norm_attention(x + self.o(self.core(*parts).flatten(2)))
        y: Tensor = self.norm_feed_forward(x + self.feed_forward(x))
        return y


def naive(module: GraphTransformer, x: Tensor) -> Tensor:
    """Compute the same from all n x n scores, each times how often its edge is there."""
    x = x + module.place(module.positions)
    edges = x.new_zeros(x.shape[1], x.shape[1])
    for source, target in zip(module.core.sources, module.core.targets, strict=True):
        edges[target, source] += 1
    reading = edges.sum(-1, keepdim=True) > 0
    mixed = []
    for q, k, v in zip(
        *(part(x).chunk(module.heads, dim=-1) for part in (module.q, module.k, module.v)),
        strict=True,
    ):
        shares = edges * (torch.einsum("bik,bjk->bij", q, k) / q.shape[-1] ** 0.5).exp()
        mixed.append(shares / torch.where(reading, shares.sum(-1, keepdim=True), 1) @ v)
    x = layer_norm.naive(module.norm_attention, x + module.o(torch.cat(mixed, dim=-1)))
    inner = feed_forward.naive(module.feed_forward, x)
    return layer_norm.naive(module.norm_feed_forward, x + inner)


def build(
    *, b: int, n: int, d: int, h: int = 8, f: int | None = None, E: int = 8192, r: int = 8
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the layer and an input ``[b, n, d]``; ``f`` is 2 d unless given.

    Each node reads itself, then the next ones in a ring, until ``E`` edges are there; positions
    are random, which costs the same.
    """
    check_positive(b=b, n=n, E=E)
    edge = torch.arange(E)
    targets = edge % n
    sources = (targets + edge // n) % n
    config = Config(d, h, 2 * d if f is None else f, r)
    module = GraphTransformer(config, sources, targets, torch.randn(n, r))
    return module, (torch.randn(b, n, d),)


_PAPER = "Dwivedi and Bresson 2020, section 2.1"

SPEC = ArchitectureSpec(
    name="graph_transformer",
    title="Graph transformer: attention along given edges, Laplacian positions",
    kind="block",
    family="graph",
    paper="https://arxiv.org/abs/2012.09699",
    symbols=("b", "n", "d", "h", "f", "E", "r"),
    defaults={"b": 1, "n": 1024, "d": 512, "h": 8, "f": 1024, "E": 8192, "r": 8},
    modes=("forward", "train"),
    claims=(
        Claim("flop", "core", "E", _PAPER, ("E",)),
        Claim("peak_bytes", "core", "E", _PAPER, ("E",)),
    ),
    gives_up="A node reads its neighbours alone: others are as many layers away as edges.",
    constraints=("h divides d",),
    ties={"f": "2*d"},
)
