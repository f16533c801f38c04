"""How long it takes to lay out, price and rank plans: ``python -m benchmarks.plan_speed``.

The space: DeepSeek-V3 on 2048 H100, 4096 sequences a step, every ZeRO stage and level of
recomputation, up to 128 sequences a pass. Then a plan is asked for again with one input changed, as
the app's page does when a field is edited.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from costlab.hardware.catalogue import load_profile
from costlab.planning.api import plan
from costlab.planning.bundled import named
from costlab.planning.cluster import cluster
from costlab.planning.search import Found, Space, search
from costlab.planning.software import software
from costlab.planning.workload import workload

MODEL, DEVICE, GPUS, LENGTH = "deepseek-v3", "H100-80G-SXM", 2048, 4096
SPACE = Space(batch=4096, zero=(0, 1, 2, 3), micro=128)


@dataclass(frozen=True, slots=True)
class Speed:
    """Plans priced and ranked, and the seconds of processor time it took."""

    found: Found
    seconds: float

    @property
    def text(self) -> str:
        """One line."""
        plans, fit = self.found.plans, self.found.order
        return (
            f"{MODEL} on {GPUS} x {DEVICE}: {len(plans)} plans, {len(fit)} of which fit, laid "
            f"out, priced and ranked in {self.seconds:.2f} s; best: {plans[fit[0]].text()}"
        )


def measured() -> Speed:
    """Search the space once, with formulas not yet read."""
    start = time.process_time()
    machines = cluster(load_profile(DEVICE), GPUS)
    found = search(workload(named(MODEL), LENGTH), machines, software("megatron-flash"), SPACE)
    return Speed(found, time.process_time() - start)


_ASKED: Mapping[str, object] = {"model": "llama-3-70b", "device": DEVICE, "gpus": 256}
CHANGES: tuple[Mapping[str, object], ...] = (
    {"length": 8192}, {"batch": 1024}, {"memory_bytes": 60e9}, {"gpus": 512}, {"tokens": 1e12},
    {"model": "llama-3.1-405b", "gpus": 1024}, {"model": "mixtral-8x7b"},
    {"model": MODEL, "gpus": GPUS},
)  # fmt: skip
_AGAIN = 3


def changed() -> dict[str, float]:
    """Seconds of processor time until an input's change is answered, the median of three."""

    def ask(change: Mapping[str, object]) -> float:
        start = time.process_time()
        plan(**{**_ASKED, **change})  # type: ignore[arg-type]
        return time.process_time() - start

    ask({})
    return {
        ", ".join(f"{name} {value}" for name, value in change.items()): statistics.median(
            ask(change) for _time in range(_AGAIN)
        )
        for change in CHANGES
    }


def main() -> int:
    """Print the times."""
    print(measured().text)
    for change, seconds in changed().items():
        print(f"answered in {1e3 * seconds:.0f} ms: {change}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
