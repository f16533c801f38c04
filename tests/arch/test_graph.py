"""Attention along edges against torch's own with a mask, and Laplacian positions in closed form."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from costlab.arch.graph_transformer import EdgeAttention, laplacian_positions


def test_attention_along_edges_is_torchs_attention_with_all_other_pairs_masked() -> None:
    torch.manual_seed(0)
    mask = torch.rand(11, 11) < 0.3
    mask.fill_diagonal_(True)
    targets, sources = mask.nonzero(as_tuple=True)
    q, k, v = torch.randn(3, 2, 11, 3, 5, dtype=torch.float64, requires_grad=True).unbind()
    ours = EdgeAttention(sources, targets)(q, k, v)
    queries, keys, values = (part.transpose(1, 2) for part in (q, k, v))
    theirs = F.scaled_dot_product_attention(queries, keys, values, mask).transpose(1, 2)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    upstream = torch.randn_like(ours)
    got, want = (torch.autograd.grad(y, (q, k, v), upstream) for y in (ours, theirs))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12)


def test_positions_on_a_ring_are_its_waves() -> None:
    """A ring's normalised Laplacian has the eigenvalues 1 - cos(2 pi j / n), each but one twice."""
    n = 9
    nodes = torch.arange(n)
    following = (nodes + 1) % n
    positions = laplacian_positions(nodes, following, n, 4)
    torch.testing.assert_close(positions.T @ positions, torch.eye(4, dtype=torch.float64))
    applied = positions - (positions[following] + positions[nodes - 1]) / 2
    for column, wave in enumerate((1, 1, 2, 2)):
        value = 1 - math.cos(2 * math.pi * wave / n)
        torch.testing.assert_close(applied[:, column], value * positions[:, column])
