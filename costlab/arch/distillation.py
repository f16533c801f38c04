"""A step of distillation: a small model learns from labels and from a larger model's outputs.

Hinton et al. 2015, "Distilling the knowledge in a neural network", section 2,
https://arxiv.org/abs/1503.02531; both terms count alike, as the temperature squared makes them.

Shapes: b batch, n positions, d width, h heads, f feed-forward width, V vocabulary, L blocks.
    x          [b, n, d]
    targets    [b, n], integers below V
    loss       the student's from the targets and from the teacher's outputs, a mean

The teacher has L decoder blocks of ``gpt_block`` and a head, frozen and run forward alone; the
student has one such block and a head of its own. A token costs 2 FLOP for each of the teacher's
weights and 6 for each of the student's.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from costlab.arch import gpt_block
from costlab.arch._sizes import check_heads, check_positive
from costlab.arch.spec import ArchitectureSpec, Claim


@dataclass(frozen=True, slots=True)
class Config:
    """Blocks of width ``d``: ``L`` of the teacher, one of the student; heads over ``V`` tokens."""

    d: int
    h: int
    f: int
    V: int
    L: int
    temperature: float = 2.0

    def __post_init__(self) -> None:
        check_heads(self.d, self.h)
        check_positive(f=self.f, V=self.V, L=self.L)


class Distillation(nn.Module):
    """The student's loss; the teacher learns nothing."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        d, h, f = config.d, config.h, config.f
        self.temperature = config.temperature
        self.student = gpt_block.GPTStack(gpt_block.Config(d, h, f))
        self.student_head = nn.Linear(d, config.V, bias=False)
        self.teacher = gpt_block.GPTStack(gpt_block.Config(d, h, f, config.L))
        self.teacher_head = nn.Linear(d, config.V, bias=False)
        for frozen in (self.teacher, self.teacher_head):
            frozen.requires_grad_(False)

    def forward(self, x: Tensor, targets: Tensor) -> Tensor:
        with torch.no_grad():
            softened = self.teacher_head(self.teacher(x)) / self.temperature
            wanted = softened.flatten(0, 1).softmax(-1)
        scores = self.student_head(self.student(x)).flatten(0, 1)
        hard = F.cross_entropy(scores, targets.flatten())
        soft = F.cross_entropy(scores / self.temperature, wanted)
        return hard + self.temperature**2 * soft


def naive(module: Distillation, x: Tensor, targets: Tensor) -> Tensor:
    """Compute the same from the shares, one position at a time."""
    scores = gpt_block.naive(module.student, x) @ module.student_head.weight.t()
    taught = gpt_block.naive(module.teacher, x) @ module.teacher_head.weight.t()
    total, heat = x.new_zeros(()), module.temperature
    for row in range(x.shape[0]):
        for at in range(x.shape[1]):
            own, other = scores[row, at].exp(), (taught[row, at].detach() / heat).exp()
            softened = (scores[row, at] / heat).exp()
            total = total - (own[targets[row, at]] / own.sum()).log()
            logs = (softened / softened.sum()).log()
            total = total - heat**2 * (other / other.sum() * logs).sum()
    return total / targets.numel()


def build(
    *, b: int, n: int, d: int, h: int = 12, f: int | None = None, V: int = 50257, L: int = 2
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Return the module, an input ``[b, n, d]`` and targets; ``f`` is 4 d unless given."""
    check_positive(b=b, n=n)
    config = Config(d, h, 4 * d if f is None else f, V, L)
    return Distillation(config), (torch.randn(b, n, d), torch.randint(V, (b, n)))


SPEC = ArchitectureSpec(
    name="distillation",
    title="A step of distillation from a larger model",
    kind="technique",
    family="compression",
    paper="https://arxiv.org/abs/1503.02531",
    symbols=("b", "n", "d", "h", "f", "V", "L"),
    defaults={"b": 1, "n": 1024, "d": 768, "h": 12, "f": 3072, "V": 50257, "L": 2},
    modes=("forward", "train"),
    claims=(
        Claim("saved_bytes", "layer", "1", "the teacher runs forward alone", ("L",), mode="train"),
    ),
    gives_up="The teacher is held and runs forward in every step.",
    constraints=("h divides d",),
    loops=("L",),
    ties={"f": "4*d"},
)
