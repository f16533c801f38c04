"""One optimizer step as a program of its own: Adam as torch runs it by default.

Parameters, their gradients and the optimizer's state exist before the step; the state is what an
earlier step made. The formulas hold for the parameters of the module, whatever computes them.
"""

from __future__ import annotations

import torch

from costlab.errors import ModuleError
from costlab.i18n import _
from costlab.sources.program import Program, tensors_of


def optimizer_step(program: Program, backend: str) -> Program:
    """The Adam step of ``program``'s parameters, with gradients as inputs and state as state.

    On CUDA torch updates all parameters by ``foreach`` kernels, on a CPU one after the other.

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
    adam = torch.optim.Adam(trained, foreach=backend == "cuda")
    adam.step()
    state = tuple(tensors_of(tuple(adam.state.values())))
    gradients = tuple(p.grad for p in trained if p.grad is not None)

    def step(*_: torch.Tensor) -> None:
        adam.step()

    return Program(step, gradients, program.module, state)
