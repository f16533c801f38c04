"""A program: what is traced and measured, a call with its tensors, and how one pass of it is run.

Tracing and measurement run the same :func:`run`, so a formula and a measured number speak of the
same pass: ``forward`` and ``prefill`` (no gradients), ``decode`` (one token, the state is an
argument) and ``train`` (forward, then backward from a dense gradient of every floating output
that exists beforehand).
"""

from __future__ import annotations

import functools
import inspect
import itertools
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from costlab.errors import InputError, ModuleError
from costlab.i18n import _

_REGISTRIES = ("_parameters", "_buffers", "_modules")
MODES = ("forward", "train", "prefill", "decode")
_DTYPES = {
    "float64": torch.float64, "float32": torch.float32, "float16": torch.float16,
    "bfloat16": torch.bfloat16, "fp64": torch.float64, "fp32": torch.float32,
    "fp16": torch.float16, "bf16": torch.bfloat16,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Program:
    """``call(*inputs, *state)`` is one pass; ``module`` owns the parameters and buffers.

    ``state`` is None outside decode; in decode its items are the arguments that follow the
    inputs, each a tensor or a nested tuple, list or dict of tensors.
    """

    call: Callable[..., object]
    inputs: tuple[torch.Tensor, ...]
    module: nn.Module | None = None
    state: tuple[Any, ...] | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Inputs followed by the state's items."""
        return self.inputs + (self.state or ())

    def held(self) -> Iterator[torch.Tensor]:
        """Every tensor that exists before a pass: what the module keeps, inputs and state."""
        if self.module is not None:
            yield from self.module.parameters()
            yield from self.module.buffers()
            yield from (tensor for _path, tensor in plain_tensors(self.module))
        yield from tensors_of(self.arguments)


def plain_tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors that modules keep as ordinary attributes, neither parameters nor buffers."""
    registered = {id(t) for t in itertools.chain(module.parameters(), module.buffers())}
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            if name in _REGISTRIES:
                continue
            for tensor in tensors_of(value):
                if id(tensor) not in registered and tensor.layout == torch.strided:
                    yield f"{path}.{name}".lstrip("."), tensor


def tensors_of(value: object) -> Iterator[torch.Tensor]:
    """Yield the tensors of nested tuples, lists, mappings (model outputs too), in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_of(item)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for item in value:
            yield from tensors_of(item)


def floating_outputs(outputs: object) -> tuple[torch.Tensor, ...]:
    """The floating-point tensors of a pass's outputs that gradients can start from.

    A tensor that appears twice counts once; outputs computed without gradients are left out.
    """
    unique = {id(t): t for t in tensors_of(outputs) if t.is_floating_point() and t.requires_grad}
    return tuple(unique.values())


def program_from(result: object, mode: str) -> Program:
    """Check what a factory returned and make a :class:`Program` of it.

    Args:
        result: ``(module or callable, inputs)``; for ``decode`` ``(module, inputs, state)``.
        mode: one of :data:`MODES`.

    Raises:
        InputError: if ``mode`` is unknown.
        ModuleError: if ``result`` is anything else; says what was returned.
    """
    check_mode(mode)
    expected = _("(module, inputs, state)") if mode == "decode" else _("(module, inputs)")
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise ModuleError(
            _("the factory returned something else"), given=_describe(result), allowed=expected
        )
    if mode == "decode" and len(result) == 2:
        raise ModuleError(
            _("decode needs a state, and the factory returned none"),
            given=_describe(result),
            allowed=expected,
            advice=_("return the state (for example the key/value cache) as the third item"),
        )
    call, inputs = result[0], result[1]
    if not callable(call):
        said = _("the first item the factory returned is no module and no callable")
        raise ModuleError(said, given=_describe(call), allowed=expected)
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if not isinstance(inputs, (tuple, list)) or not all(
        isinstance(item, torch.Tensor) for item in inputs
    ):
        said = _("the inputs the factory returned are no tuple of tensors")
        raise ModuleError(said, given=_describe(inputs), allowed=expected)
    program = Program(call, tuple(inputs), _module_of(call))
    if mode == "decode":
        return _with_state(program, result[2])
    return program


def check_mode(mode: str) -> None:
    """Raise ``InputError`` unless ``mode`` is one that runs a program."""
    if mode not in MODES:
        raise InputError(_("unknown mode"), given=mode, allowed=", ".join(MODES))


def torch_dtype(dtype: str | torch.dtype) -> torch.dtype:
    """The floating ``torch.dtype`` of a name such as ``float32`` or ``bf16``."""
    if isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in _DTYPES:
        raise InputError(_("unknown dtype"), given=dtype, allowed=", ".join(_DTYPES))
    return _DTYPES[dtype]


def prepare(program: Program, mode: str, dtype: str | torch.dtype = "float32") -> Program:
    """Set the module's mode and dtype; return the program with inputs and state to match.

    The module is changed in place: training or evaluation mode, floating parameters and buffers
    cast to ``dtype``, gradients cleared. In ``train`` floating inputs become leaves that require
    gradients. One tensor passed twice stays one tensor.
    """
    check_mode(mode)
    target = torch_dtype(dtype)
    if program.module is not None:
        program.module.train(mode == "train")
        for tensor in itertools.chain(program.module.parameters(), program.module.buffers()):
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(target)
        program.module.zero_grad(set_to_none=True)
    seen: dict[int, torch.Tensor] = {}

    def cast(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in seen:
            new = tensor.detach()
            if new.is_floating_point():
                new = new.to(target).requires_grad_(mode == "train")
            seen[id(tensor)] = new
        return seen[id(tensor)]

    inputs = tuple(cast(tensor) for tensor in program.inputs)
    state = None if program.state is None else tuple(_map(cast, item) for item in program.state)
    return replace(program, inputs=inputs, state=state)


def upstream_gradients(program: Program) -> tuple[torch.Tensor, ...]:
    """Run one forward pass to learn the outputs' shapes; return a dense gradient for each.

    Raises:
        ModuleError: if no output depends on anything that requires gradients.
    """
    with torch.enable_grad():
        outputs = floating_outputs(program.call(*program.arguments))
    if not outputs:
        raise ModuleError(
            _("train needs an output with gradients"),
            given=_("no floating-point output depends on a parameter or a floating-point input"),
            advice=_("use --mode forward"),
        )
    return tuple(torch.ones(o.shape, dtype=o.dtype, device=o.device) for o in outputs)


def run(program: Program, mode: str, gradients: Sequence[torch.Tensor] = ()) -> object:
    """Execute one pass and return its outputs (the caller decides how long they live).

    Args:
        program: a program that :func:`prepare` returned for the same ``mode``.
        mode: one of :data:`MODES`.
        gradients: for ``train``, what :func:`upstream_gradients` returned.
    """
    if mode != "train":
        with torch.no_grad():
            return program.call(*program.arguments)
    with torch.enable_grad():
        outputs = program.call(*program.arguments)
        torch.autograd.backward(floating_outputs(outputs), list(gradients))
    return outputs


def _with_state(program: Program, state: object) -> Program:
    """Decide how the call takes the state: as one argument, spread, or not at all."""
    if not any(True for tensor in tensors_of(state)):
        raise ModuleError(
            _("the decode state the factory returned holds no tensor"),
            given=_describe(state),
            allowed=_("a tensor, or a tuple, list or dict of tensors"),
        )
    spread = tuple(state) if isinstance(state, (tuple, list)) else (state,)
    whole = (state,)
    count = len(program.inputs)
    required, most, takes_sequence = _positional(program.call, count)
    if most == count:
        return replace(program, call=_without_state(program.call, count), state=whole)
    if len(spread) == 1:
        return replace(program, state=whole if takes_sequence else spread)
    if required == count + len(spread) or (required != count + 1 and most == count + len(spread)):
        return replace(program, state=spread)
    return replace(program, state=whole)


def _without_state(call: Callable[..., object], count: int) -> Callable[..., object]:
    """A call for modules that keep the state themselves (as buffers)."""

    def call_with_inputs(*arguments: object) -> object:
        return call(*arguments[:count])

    return call_with_inputs


def _positional(call: Callable[..., object], index: int) -> tuple[int, float, bool]:
    """Required and most positional arguments, and whether the one at ``index`` is a sequence."""
    target = call.forward if isinstance(call, nn.Module) else call
    try:
        signature = inspect.signature(target, eval_str=True)
    except Exception:
        return 0, float("inf"), False
    parameters = list(signature.parameters.values())
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in plain)
    most: float = len(plain)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        most = float("inf")
    annotation = plain[index].annotation if index < len(plain) else None
    kind = typing.get_origin(annotation) or annotation
    return required, most, kind in (tuple, list, Sequence)


def _module_of(call: object) -> nn.Module | None:
    """The module behind a callable: itself, its ``self``, or those it closes over."""
    if isinstance(call, nn.Module):
        return call
    if isinstance(call, functools.partial):
        return _gather([call.func, *call.args, *call.keywords.values()])
    owner = getattr(call, "__self__", None)
    if isinstance(owner, nn.Module):
        return owner
    values = inspect.getclosurevars(call).nonlocals if inspect.isfunction(call) else {}
    return _gather(list(values.values()))


def _gather(values: Sequence[object]) -> nn.Module | None:
    found = [m for value in values if (m := _module_of_value(value)) is not None]
    if len(found) > 1:
        return nn.ModuleList(found)
    return found[0] if found else None


def _module_of_value(value: object) -> nn.Module | None:
    if isinstance(value, nn.Module):
        return value
    owner = getattr(value, "__self__", None)
    return owner if isinstance(owner, nn.Module) else None


def _map(function: Callable[[torch.Tensor], torch.Tensor], value: object) -> object:
    """``value`` with every tensor of its tuples, lists and dicts replaced."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {key: _map(function, item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        make: Callable[..., object] = type(value)
        return make(*(_map(function, item) for item in value))
    if isinstance(value, (tuple, list)):
        items = [_map(function, item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    return value


def _describe(value: object) -> str:
    """A short text of types: ``(Linear, Tensor)``."""
    if isinstance(value, tuple):
        return "(" + ", ".join(_describe(item) for item in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(_describe(item) for item in value[:4]) + "]"
    return "None" if value is None else type(value).__name__
