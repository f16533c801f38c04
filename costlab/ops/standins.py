"""Runs a module on the CPU with CUDA's fused operators in place of the CPU's.

Inside :class:`CudaStandins` attention, recurrent layers and cells run as one operator forward and
one backward in the namespace ``costlab``, with the results, outputs and saved tensors of torch's
CUDA operators. Numbers are those of the CPU functions they replace; speed is not. Attention takes
the kernel that torch chooses on CUDA by dtype and shape: flash for half precision without a mask,
memory-efficient otherwise, unfused where neither works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

import costlab.ops.cuda_fakes as _fakes  # noqa: F401  (registers shapes for symbolic runs)
from costlab.ops.cuda_attention import REAL_ATTENTION, attention
from costlab.ops.cuda_cells import CELLS
from costlab.ops.cuda_recurrent import RNN_MODES, recurrent_layer

_torch = torch._C._VariableFunctions
_REPLACEMENTS: dict[Callable[..., Any], Callable[..., Any]] = {
    REAL_ATTENTION: attention,
    **{getattr(_torch, name): cell for name, cell in CELLS.items()},
    **{real: recurrent_layer(name, real) for name in RNN_MODES for real in [getattr(_torch, name)]},
}


class CudaStandins(TorchFunctionMode):
    """Within this context attention, recurrent layers and cells run as CUDA's fused operators."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _REPLACEMENTS.get(func, func)(*args, **(kwargs or {}))

    def __enter__(self) -> Any:
        # torch runs F.multi_head_attention_forward with modes off; it looks the name up there.
        F.scaled_dot_product_attention = attention
        enter: Any = super().__enter__
        return enter()

    def __exit__(self, *exc: object) -> None:
        F.scaled_dot_product_attention = REAL_ATTENTION
        leave: Any = super().__exit__
        leave(*exc)
