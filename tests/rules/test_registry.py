"""The registry: every name is an operator of torch, every family registers on import."""

from __future__ import annotations

import pytest
import torch

import costlab.rules  # noqa: F401  registers every rule
from costlab.graph import Call, TensorSpec
from costlab.rules import base
from costlab.rules.base import Cost, bytes_of, find_rule, rule, scalar_is, tensors_of

SPEC = TensorSpec((3, 5), (5, 1), "float32")
MASK = TensorSpec((7,), (1,), "bool")


def test_registered_names_are_operators_of_torch() -> None:
    """An in-place or list variant may be missing in torch, its base may not."""
    unknown = []
    for name in (op.split(".")[1] for op in base._RULES if op.startswith("aten.")):
        plain = name.removeprefix("_foreach_").removesuffix("_")
        if not (hasattr(torch.ops.aten, name) or hasattr(torch.ops.aten, plain)):
            unknown.append(name)
    assert unknown == []


def test_overload_has_precedence_over_packet() -> None:
    assert find_rule("aten.mm.default") is find_rule("aten.mm.out") is not None
    assert find_rule("aten.no_such_operator.default") is None


def test_second_rule_for_an_operator_is_refused() -> None:
    with pytest.raises(ValueError, match=r"aten\.mm has a rule already"):
        rule("aten.mm")(lambda call: Cost("none"))


def test_named_arguments_are_flattened() -> None:
    call = Call("x", {"a": (SPEC, (MASK, None)), "b": SPEC, "c": 2.0, "d": None}, ())
    assert list(tensors_of(call, "a", "b", "missing")) == [SPEC, MASK, SPEC]
    assert bytes_of(call, "a", "d") == 15 * 4 + 7
    assert scalar_is(call, "c", 2)
    assert not scalar_is(call, "d", 0)


def test_views_have_no_rule_of_their_own() -> None:
    for name in ("view", "transpose", "expand", "slice", "select", "unbind", "as_strided"):
        assert find_rule(f"aten.{name}.default") is None
