from __future__ import annotations

import json

import pytest

from clearway.engines.ray.orders import own_ray


@pytest.mark.parametrize(
    ("cpus", "gpus", "held"),
    [(2.0, 2.0, {"CPU": 2, "GPU": 2}), (0.5, 0.5, {"CPU": 1, "GPU": 1}), (1.0, 0.0, {"CPU": 1, "GPU": 0})],
)
def test_a_cluster_of_a_task_counts_a_part_as_a_whole(cpus: float, gpus: float, held: dict[str, int]) -> None:
    assert json.loads(own_ray({"CPU": cpus, "GPU": gpus})["RAY_OVERRIDE_RESOURCES"]) == held
