"""How long it takes to lay out, price and rank plans: ``python -m benchmarks.plan_speed``.

The space: DeepSeek-V3 on 2048 H100, 4096 sequences a step, every ZeRO stage and level of
recomputation, up to 128 sequences a pass.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from costlab.hardware.catalogue import load_profile
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


def main() -> int:
    """Print the time."""
    print(measured().text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
