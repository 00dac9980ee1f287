"""What is asked of Ray. Every function here may wait for the cluster: none is called in a thread that must not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import ray
from ray import cloudpickle
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)  # fmt: skip
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

from clearway.engines import parts
from clearway.engines.parts import cuts, looks, memory, tree
from clearway.engines.ray import gang, host, left, plain, step
from clearway.engines.ray.nodes import Amounts, is_custom

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from clearway.engines.ray.nodes import RayNode

IDLE_S = 60.0
"""A host that had no task for so long leaves."""
PARALLEL_CALLS = 1000
LISTED = 10_000
STATE_API_S = 10
"""How long the cluster is asked for what it has free."""


class Place(NamedTuple):
    """What is held in Ray's ledger for a task, by the name it was held with."""

    name: str
    group: Any
    bundle: Amounts


class Cluster:
    """A connection to a cluster as its driver, in a namespace of our own."""

    def __init__(self, address: str, namespace: str) -> None:
        self.namespace = namespace
        for module in (host, left):
            cloudpickle.register_pickle_by_value(module)
        plain.only_plain(host.Host)
        self.term = (0, 0)
        self._remote = address.startswith("ray://")
        if self._remote:
            plain.only_plain_of_server(host.Host)
        if address == "start":
            _start_where_none_is()
            address = "auto"
        ray.init(address, namespace=namespace, log_to_driver=False, configure_logging=False)
        self._step = _texts()
        self._host = ray.remote(host.Host)
        self._given = ray.remote(host.devices_given)
        self._sweep = ray.remote(left.sweep)
        self._ask = ray.remote(_available)

    # --- nodes -----------------------------------------------------------------------------------

    def told(self) -> list[dict[str, Any]]:
        """Return what Ray says of its nodes, dead ones among them."""
        return list(ray.nodes())

    def available(self) -> dict[str, dict[str, float]]:
        """Return what is free, by number of node."""
        if self._remote:
            found: dict[str, dict[str, float]] = ray.get(self._ask.options(num_cpus=0).remote(), timeout=STATE_API_S)
            return found
        return _available()

    # --- places ----------------------------------------------------------------------------------

    def hold(self, name: str, node: RayNode, bundle: Mapping[str, float], patience_s: float) -> Place | None:
        """Hold something of a node, for good; None where Ray does not give it within `patience_s` seconds."""
        amounts = asked(node, bundle)
        group = placement_group(
            [amounts], name=f"{self.namespace}:{name}", lifetime="detached",
            bundle_label_selector=[{"ray.io/node-id": node.number}],
        )  # fmt: skip
        if group.wait(patience_s):
            return Place(name, group, amounts)
        remove_placement_group(group)
        return None

    def let_go(self, place: Place) -> None:
        """Let go of a place."""
        remove_placement_group(place.group)

    def worker(self, node: RayNode) -> Any:  # noqa: ANN401  a promise of Ray's
        """Return a promise of a worker on a node, which Ray keeps for what is asked there next."""
        strategy = NodeAffinitySchedulingStrategy(node.number, soft=False)
        return self._given.options(num_cpus=0, max_retries=0, scheduling_strategy=strategy).remote()

    def given(self, place: Place) -> Any:  # noqa: ANN401  a promise of Ray's
        """Return a promise of the devices that Ray holds for a place."""
        strategy = PlacementGroupSchedulingStrategy(place.group, 0)
        return self._given.options(
            num_cpus=0, num_gpus=place.bundle["GPU"], max_retries=0, scheduling_strategy=strategy
        ).remote()

    def places(self) -> dict[str, Place]:
        """Return all places of this namespace, by the name they were held with."""
        found = {}
        for number, told in placement_group_table().items():
            namespace, _, name = told["name"].partition(":")
            if namespace == self.namespace and told["state"] != "REMOVED":
                number_of = ray.PlacementGroupID(bytes.fromhex(number))
                found[name] = Place(name, PlacementGroup(number_of), dict(told["bundles"][0]))
        return found

    # --- hosts -----------------------------------------------------------------------------------

    def new_host(self, node: RayNode, name: str, runtime_env: str) -> Any:  # noqa: ANN401  an actor
        """Have an actor made on a node, in a runtime environment; it is asked at once whether it is there."""
        strategy = NodeAffinitySchedulingStrategy(node.number, soft=False)
        return self._host.options(
            name=name, lifetime="detached", num_cpus=0, max_concurrency=PARALLEL_CALLS, scheduling_strategy=strategy,
            runtime_env=json.loads(runtime_env or "{}"),
        ).remote(self.namespace, self._step, IDLE_S, runtime_env)  # fmt: skip

    def hosts(self) -> dict[str, Any]:
        """Return all hosts of this namespace, by name."""
        found = {}
        for name in ray.util.list_named_actors():
            try:
                found[name] = ray.get_actor(name)
            except ValueError:  # gone since the list was made
                continue
        return found

    def sweep(self, node: RayNode, keys: list[str], patience_s: float) -> Any:  # noqa: ANN401  a promise of Ray's
        """Return a promise of how tasks ended whose host died, once nothing is left of them on their node."""
        strategy = NodeAffinitySchedulingStrategy(node.number, soft=False)
        return self._sweep.options(num_cpus=0, scheduling_strategy=strategy).remote(self.namespace, keys, patience_s)


def _texts() -> dict[str, str]:
    """Return the step and what it imports by their paths in a folder that Python can run."""
    found = {"/".join(one.__name__.split(".")) + ".py": _text(one) for one in (cuts, looks, memory, tree)}
    return {
        f"{parts.__name__.replace('.', '/')}/__init__.py": "",
        **found,
        "__main__.py": _text(step),
        host.GANG: _text(gang),
    }


def _text(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text()


def _start_where_none_is() -> None:
    """Start a cluster of this machine, which goes on after this process. Raises ConnectionError."""
    script = [sys.executable, "-m", "ray.scripts.scripts"]
    if subprocess.run([*script, "health-check"], capture_output=True, check=False, stdin=subprocess.DEVNULL).returncode:
        command = [*script, "start", "--head", "--include-dashboard=false", "--disable-usage-stats"]
        done = subprocess.run(command, capture_output=True, check=False, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise ConnectionError(f"ray start: {done.stderr.strip()[-400:]}")


def asked(node: RayNode, bundle: Mapping[str, float]) -> Amounts:
    """Return what Ray is asked to hold: a place of nothing it does not make."""
    return {word: amount for word, amount in bundle.items() if amount > 0} or {f"node:{node.address}": 0.001}


def summed(bundles: Iterable[Mapping[str, float]]) -> Amounts:
    """Return the sum of bundles."""
    found: Amounts = {}
    for bundle in bundles:
        for word, amount in bundle.items():
            if word in {"CPU", "GPU", "memory"} or is_custom(word):
                found[word] = found.get(word, 0) + amount
    return found


def _available() -> dict[str, dict[str, float]]:
    from ray._private.state import available_resources_per_node  # noqa: PLC0415  where it runs, also on a node

    return {number: dict(amounts) for number, amounts in available_resources_per_node().items()}
