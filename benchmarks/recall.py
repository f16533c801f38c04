"""What hashing misses: the pairs and the softmax that Reformer's attention meets, by rounds.

``python -m benchmarks.recall`` plants pairs of vectors an angle apart among random others, lets
the catalogue's module hash, sort and attend, and reads from its real shares which pairs met: in
one bucket of one round, and in one chunk or neighbouring ones. Beside it stands what the formula
gives for the bucket alone, ``1 - (1 - p)**R`` with ``p = (1 - angle/pi)**r``, and how much of the
softmax over all keys falls on keys that were met. ``--n``, ``--chunk``, ``--rounds``, ``--angles``
and ``--seeds`` choose the points.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.tables import markdown_table
from costlab.arch import lsh_attention
from costlab.formulas.structure import agreement, missed

_HEADS, _WIDTH = 4, 64


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares of the planted pairs that met, by measurement and formula, and of the softmax."""

    rounds: int
    met: float
    formula: float
    softmax: float


def planted(n: int, angle: float) -> Tensor:
    """Vectors ``[1, h, n, k]`` of length sqrt(k), the later half the first turned by ``angle``."""
    first = F.normalize(torch.randn(1, _HEADS, n // 2, _WIDTH), dim=-1)
    other = torch.randn_like(first)
    across = F.normalize(other - (other * first).sum(-1, keepdim=True) * first, dim=-1)
    turned = math.cos(angle) * first + math.sin(angle) * across
    return math.sqrt(_WIDTH) * torch.cat((first, turned), dim=2)


def measure(n: int, chunk: int, rounds: int, angle: float) -> Recall:
    """One draw of vectors and hashes."""
    bits = lsh_attention.hash_bits(n, chunk)
    config = lsh_attention.Config(_HEADS * _WIDTH, _HEADS, chunk, rounds, bits)
    qk = planted(n, angle)
    order = torch.randperm(n)
    qk, place = qk[:, :, order], order.argsort()
    # Values that are unit vectors come back as the shares themselves.
    shares = lsh_attention.HashedCore(config)(qk, torch.eye(n).expand(1, _HEADS, n, n))
    met = shares > 0
    pairs = met[:, :, place[: n // 2], place[n // 2 :]]
    scores = qk @ F.normalize(qk, dim=-1).transpose(-2, -1)
    full = scores.masked_fill(torch.eye(n, dtype=torch.bool), -math.inf).softmax(-1)
    return Recall(
        rounds,
        float(pairs.float().mean()),
        1 - missed(agreement(angle, bits), rounds),
        float((full * met).sum(-1).mean()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1024)
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--rounds", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--angles", type=float, nargs="*", default=[15.0, 30.0, 45.0, 60.0])
    parser.add_argument("--seeds", type=int, default=4)
    args = parser.parse_args(arguments)
    rows = []
    for degrees in args.angles:
        for rounds in args.rounds:
            draws = []
            for seed in range(args.seeds):
                torch.manual_seed(seed)
                with torch.no_grad():
                    draws.append(measure(args.n, args.chunk, rounds, math.radians(degrees)))
            shown = (
                sum(d.met for d in draws) / len(draws),
                draws[0].formula,
                sum(d.softmax for d in draws) / len(draws),
            )
            rows.append((f"{degrees:g}°", str(rounds), *(f"{100 * s:.1f} %" for s in shown)))
    print(f"n = {args.n}, c = {args.chunk}, r = {lsh_attention.hash_bits(args.n, args.chunk)}")
    header = ("angle", "rounds", "pairs met", "1 - (1 - p)^R", "softmax met")
    print(markdown_table(header, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
