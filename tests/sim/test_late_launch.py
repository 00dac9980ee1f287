"""A task whose launch was held up by a silent node, and comes when the others have done all the work."""

from __future__ import annotations

import yaml

from clearway.model import events as ev
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.sim.run import simulate

ROLES = [{"name": "launcher", "cpus": 1}, {"name": "worker", "gpus": 1, "tasks": 2, "min_tasks": 1}]
SCENARIO = {
    "policy": {"order": ["fifo"], "backfill": "none", "preempt": []},
    "fleet": {"nodes": [{"name": "n0", "gpus": 1}, {"name": "n1", "gpus": 1}]},
    "jobs": [{"name": "j", "submit": 49, "runtime": 5, "roles": ROLES}],
    "events": [{"at": 42, "node_lost": "n1"}, {"at": 63, "node_ready": "n1"}],
    "until": 1000,
}


def test_it_has_nothing_left_to_do() -> None:
    """It neither waits for others that are gone nor does all of their work once more."""
    ended = [record for record in simulate(yaml.safe_dump(SCENARIO)).records if isinstance(record, ev.Ended)]
    assert [(record.state, record.at_us) for record in ended] == [(State.SUCCEEDED, 63 * SECOND_US)]
