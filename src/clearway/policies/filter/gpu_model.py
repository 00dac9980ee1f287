"""gpu_model: only devices of a model that the job can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand


class GpuModel:
    """The node's GPU model is one of those asked for; a job that names none takes any."""

    name = "gpu_model"
    fact = "wrong_model"

    def admits(self, demand: Demand, node: NodeSpec) -> bool:
        """Return whether the node's model will do."""
        return not demand.gpu_models or node.gpu_model in demand.gpu_models
