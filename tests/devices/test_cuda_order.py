"""CUDA's numbering from the environment's variables; the rules are the CUDA programming guide's."""

from __future__ import annotations

import pytest

from costlab.devices.cuda_order import cuda_order

A = "GPU-1111aaaa-0000-0000-0000-000000000001"
B = "GPU-1111bbbb-0000-0000-0000-000000000002"
C = "GPU-2222cccc-0000-0000-0000-000000000003"
MIG = "MIG-3333dddd-0000-0000-0000-000000000004"
OLD_MIG = f"MIG-{A}/1/0"
BUS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        (None, (A, B, C)),
        ("2,0", (C, A)),
        (" 1 , 2 ", (B, C)),
        ("0,-1,2", (A,)),  # what follows an invalid entry is hidden
        ("0,7,1", (A,)),
        ("0,x,1", (A,)),
        ("", ()),
        ("-1", ()),
        ("NoDevFiles", ()),
        ("1,1", ()),  # naming a device twice hides all
        (f"{C},{A}", (C, A)),
        ("GPU-2222", (C,)),
        ("GPU-1111", ()),  # no unique beginning
        (f"2,{A}", (C, A)),
        (f"0,{A}", ()),
        (MIG, (MIG,)),
        (f"{MIG},{A}", (MIG,)),  # one MIG instance is all that CUDA shows
        (OLD_MIG, (OLD_MIG,)),
        ("٣", ()),  # a digit, but not CUDA's
    ],
)
def test_visible_devices(visible: str | None, uuids: tuple[str, ...]) -> None:
    variables = BUS if visible is None else BUS | {"CUDA_VISIBLE_DEVICES": visible}

    assert cuda_order([A, B, C], variables, [MIG, OLD_MIG]).uuids == uuids


@pytest.mark.parametrize("visible", [None, "1", "0,1"])
def test_indices_are_unknown_in_cudas_own_order(visible: str | None) -> None:
    """CUDA puts the fastest first, which only CUDA can tell."""
    variables = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}

    order = cuda_order([A, B], variables)

    assert (order.uuids, order.reason) == (None, "cuda_order_unknown")
    assert "CUDA_DEVICE_ORDER" in order.text


def test_uuids_and_a_single_gpu_need_no_order() -> None:
    assert cuda_order([A, B], {"CUDA_VISIBLE_DEVICES": f"{B},{A}"}).uuids == (B, A)
    assert cuda_order([A], {}).uuids == (A,)
    assert cuda_order([A], {"CUDA_VISIBLE_DEVICES": "0"}).uuids == (A,)
    assert cuda_order([], {}).uuids == ()
