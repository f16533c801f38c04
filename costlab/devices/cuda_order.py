"""Which GPU is CUDA's number i: by UUID, since NVML counts along the PCI bus and CUDA does not.

The rules for ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER`` are those of the CUDA C++
Programming Guide, "CUDA Environment Variables". Where CUDA itself can be asked (a process that has
a context), its UUIDs are the truth; this is for processes that shall have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from costlab.devices.reasons import text_of


@dataclass(frozen=True, slots=True)
class CudaOrder:
    """UUIDs in CUDA's order; None with a reason if it cannot be known without CUDA."""

    uuids: tuple[str, ...] | None
    reason: str = ""
    text: str = ""


def cuda_order(
    nvml_uuids: Sequence[str],
    variables: Mapping[str, str],
    mig_uuids: Sequence[str] = (),
) -> CudaOrder:
    """What CUDA would show of the GPUs ``nvml_uuids``.

    Args:
        nvml_uuids: UUIDs in NVML's order.
        variables: the environment's variables.
        mig_uuids: UUIDs of MIG instances; CUDA shows one of them at most.
    """
    visible = variables.get("CUDA_VISIBLE_DEVICES")
    by_bus = variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len(nvml_uuids) < 2
    if visible is None:
        return CudaOrder(tuple(nvml_uuids)) if by_bus else _unknown()
    uuids: list[str] = []
    for token in (part.strip() for part in visible.split(",")):
        if _is_index(token):
            if int(token) >= len(nvml_uuids):
                break
            if not by_bus:
                return _unknown()
            uuid = nvml_uuids[int(token)]
        else:
            matches = _matches(token, [*nvml_uuids, *mig_uuids])
            if len(matches) != 1:
                break
            uuid = matches[0]
        if uuid in uuids:
            # CUDA shows no device at all if one is named twice.
            return CudaOrder(())
        uuids.append(uuid)
        if uuid in mig_uuids:
            return CudaOrder((uuid,))
    return CudaOrder(tuple(uuids))


def _is_index(token: str) -> bool:
    return token.isascii() and token.isdigit()


def _matches(token: str, uuids: Sequence[str]) -> list[str]:
    """CUDA takes a UUID or any beginning of one that is unique."""
    if not token.startswith(("GPU-", "MIG-")):
        return []
    return [uuid for uuid in uuids if uuid.startswith(token)]


def _unknown() -> CudaOrder:
    return CudaOrder(None, "cuda_order_unknown", text_of("cuda_order_unknown"))
