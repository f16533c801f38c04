"""Plans, collectives and clusters against published rules and worked numbers."""

from __future__ import annotations

import numpy as np
import pytest

from costlab.errors import InputError
from costlab.hardware.catalogue import load_profile
from costlab.planning.cluster import cluster
from costlab.planning.communication import Links, all_reduce_bytes, bubble, gather_bytes, group
from costlab.planning.parallel import Plan, Plans


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_ring_factors_are_those_of_nccl_tests() -> None:
    # NVIDIA/nccl-tests, PERFORMANCE.md: 2(n-1)/n for all-reduce, (n-1)/n for the gathers.
    assert all_reduce_bytes(column(1, 1, 1), column(4, 8, 16)).tolist() == [1.5, 1.75, 1.875]
    assert gather_bytes(column(1, 1), column(4, 8)).tolist() == [0.75, 0.875]


@pytest.mark.parametrize(
    ("stages", "passes", "share"), [(8, 16, 43.75), (8, 64, 10.9375), (16, 48, 31.25)]
)
def test_bubble_of_the_pipeline(stages: int, passes: int, share: float) -> None:
    # Narayanan et al. 2021, section 2.2: (p - 1) / m, printed 43.75 % and 10.9 %.
    found = bubble(column(stages), column(passes), column(1.0))

    assert found[0] == pytest.approx(share / 100)
    assert bubble(column(stages), column(passes), column(2.0))[0] == pytest.approx(share / 200)


def test_a_ring_between_nodes_is_as_fast_as_its_share_of_the_network() -> None:
    machines = cluster(load_profile("A100-80"), 64)
    links = Links()

    # Eight tensor-parallel neighbours fill a node, so eight rings share its 8 x 25 GB/s.
    eight = group(machines, links, column(8), column(8))
    two = group(machines, links, column(8), column(2))
    inside = group(machines, links, column(8), column(1))

    assert eight.rate[0] == pytest.approx(25e9)
    assert two.rate[0] == pytest.approx(100e9)
    assert inside.rate[0] == pytest.approx(300e9)
    assert (eight.crosses[0], inside.crosses[0]) == (1, 0)
    assert inside.all_reduce(column(1e9))[0] == pytest.approx(1e9 * 1.75 / 300e9)


def test_a_plan_is_its_column() -> None:
    plans = [Plan(dp=4, tp=2, pp=3, micro=2, accumulation=5), Plan(cp=2, recompute=2, zero=3)]

    columns = Plans.of(plans)

    assert [columns[0], columns[1]] == plans
    assert columns.devices.tolist() == [24, 2]
    assert columns.batch.tolist() == [40, 1]
    assert plans[0].to_json()["recompute"] == "none"


def test_a_missing_link_is_named() -> None:
    with pytest.raises(InputError, match="link between the devices"):
        cluster(load_profile("RTX-4090"), 4, per_node=4)
    with pytest.raises(InputError, match="network between nodes"):
        cluster(load_profile("RTX-4090"), 4, per_node=2, link_bytes_per_s=32e9)
    assert cluster(load_profile("RTX-4090"), 1).nodes == 1
