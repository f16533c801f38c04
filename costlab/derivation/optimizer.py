"""One optimizer step as a program of its own: Adam and others as torch runs them by default.

Parameters, their gradients and the optimizer's state exist before the step; the state is what an
earlier step made. The formulas hold for the parameters of the module, whatever computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from costlab.errors import ModuleError
from costlab.i18n import _
from costlab.ops.adam8 import Adam8
from costlab.sources.program import Program, tensors_of

Make = Callable[[list[torch.nn.Parameter], bool], torch.optim.Optimizer]

_MAKERS: Mapping[str, Make] = {
    "optimizer": lambda trained, foreach: torch.optim.Adam(trained, foreach=foreach),
    "optimizer-sgd": lambda trained, foreach: torch.optim.SGD(trained, 0.01, foreach=foreach),
    "optimizer-momentum": lambda trained, foreach: torch.optim.SGD(
        trained, 0.01, momentum=0.9, foreach=foreach
    ),
    "optimizer-adafactor": lambda trained, _foreach: torch.optim.Adafactor(trained, foreach=False),
    "optimizer-adam8": lambda trained, _foreach: Adam8(trained),
}
"""By mode; "optimizer" is Adam."""


def is_optimizer(mode: str) -> bool:
    """Whether ``mode`` is a step of an optimizer."""
    return mode in _MAKERS


def optimizer_step(program: Program, backend: str, mode: str = "optimizer") -> Program:
    """A step over ``program``'s parameters, with gradients as inputs and state as state.

    On CUDA torch's Adam and SGD update all parameters by ``foreach`` kernels, on a CPU one after
    the other, as Adafactor and 8-bit Adam do on both.

    Raises:
        ModuleError: if the module has no parameters that are trained.
    """
    parameters = [] if program.module is None else list(program.module.parameters())
    trained = [p for p in parameters if p.requires_grad]
    if not trained:
        raise ModuleError(
            _("an optimizer step needs parameters"),
            given=_("the module has none that require gradients"),
        )
    for parameter in trained:
        parameter.grad = torch.randn_like(parameter)
    optimizer = _MAKERS[mode](trained, backend == "cuda")
    optimizer.step()
    state = tuple(tensors_of(tuple(optimizer.state.values())))
    gradients = tuple(p.grad for p in trained if p.grad is not None)

    def step(*_: torch.Tensor) -> None:
        optimizer.step()

    return Program(step, gradients, program.module, state)
