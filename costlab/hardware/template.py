"""A device profile to fill in: what is known of this machine, and a zero for every other figure."""

from __future__ import annotations

from datetime import date

from costlab.devices import Environment

_TEMPLATE = """\
# A device of your own. Fill in every 0 from its datasheet: dense rates (no sparsity), a
# multiply-add counts as 2 FLOP, GB = 1e9 bytes. Name a source with its date for every figure;
# lines may be left out where nothing is published, but those marked "needed".
# Then: costlab predict full_attention n=4k d=512 --device FILE.toml
schema = "costlab.device/1"
name = "mine"
title = {title}
kind = "{kind}"      # cpu or gpu
backend = "{backend}"  # cpu or cuda: whose operators run on it

[device]
units = {{ value = {units}, source = "{units_source}" }}  # needed: {units_meaning}
power = {{ value = 0, source = "datasheet" }}  # board power limit, W

[matrix]  # matmuls, FLOP/s, for example 312e12
float32 = {{ value = 0, source = "datasheet" }}
bfloat16 = {{ value = 0, source = "datasheet" }}

[vector]  # all other arithmetic, FLOP/s
float32 = {{ value = 0, source = "datasheet" }}  # needed

[memory]
capacity = {{ value = {capacity}, source = "{capacity_source}" }}  # bytes
bandwidth = {{ value = 0, source = "datasheet" }}  # needed, B/s, for example 900e9

[sources.system]
title = "what the operating system and the driver report"
read = "{today}"

[sources.datasheet]
title = "the maker's datasheet"
url = ""
read = "{today}"
"""


def profile_template(environment: Environment, today: date) -> str:
    """TOML text of a profile of this machine: its first GPU, or its CPU where it has none.

    Figures that no system reports are 0, which no profile may have: a file that is not filled in
    is refused with the name of the first such field.
    """
    gpu = environment.gpus[0] if environment.gpus else None
    if gpu is not None:
        capacity = gpu.memory_bytes
        return _TEMPLATE.format(
            title=_quoted(gpu.name), kind="gpu", backend="cuda", units=0, units_source="datasheet",
            units_meaning="multiprocessors", capacity=capacity or 0,
            capacity_source="system" if capacity else "datasheet", today=today.isoformat(),
        )  # fmt: skip
    memory = environment.cgroup_memory_bytes or environment.memory_bytes
    return _TEMPLATE.format(
        title=_quoted(environment.cpu), kind="cpu", backend="cpu", units=len(environment.affinity),
        units_source="system", units_meaning="cores",
        capacity=min(memory, environment.memory_bytes), capacity_source="system",
        today=today.isoformat(),
    )  # fmt: skip


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
