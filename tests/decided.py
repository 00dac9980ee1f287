"""What Clearway decided, and said about it, when these samples were written down.

The samples are the scenarios of `tests/scenarios` and organisations made up from a seed. A change that decides
otherwise is either meant, and then `python -m tests.decided` writes the samples anew with it, or a fault.
"""

from __future__ import annotations

import hashlib
import json
import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from clearway.loop.world import World
from clearway.model import events as ev
from clearway.model.states import State
from clearway.model.values import SECOND_US
from clearway.ports.journal import Entry
from clearway.sim.run import simulate
from clearway.whatif.again import Again
from clearway.whatif.outlook import outlook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).resolve().parent
FILE = HERE / "decided.json"
SEEDS = range(16)
JOBS = 70
UNTIL_S = 3000
MOMENT_S = 390  # when machines are lost, others are back, and much waits
ASKED = 12  # jobs of each sample
DIGITS = 4  # of a record's digest: enough to see a difference, short enough to keep
ALWAYS: list[dict[str, Any]] = [
    {"order": ["fair", "priority", "fifo"], "preempt": ["priority", "reclaim", "fair"], "calm": "20s"},
    {"order": ["priority", "fifo"], "backfill": "conservative", "preempt": ["priority"], "priority_inheritance": True},
    {"order": ["fair", "sjf"], "preempt": ["time_slice", "reclaim"], "time_slice": "60s", "calm": 0},
    {
        "order": ["fair", "fifo"],
        "fairness": {"measure": "dominant", "half_life": "5m"},
        "preempt": ["fair"],
        "min_runtime": "20s",
    },
    {"order": ["priority", "fifo"], "ageing": "1m", "preempt": ["priority"], "share_memory": "proportional"},
    {"order": ["wfp3"], "score": {"affinity": 2, "fragmentation": 1, "topology": 2, "spread": 1, "cost": 1}},
    {"order": ["largest", "fifo"], "backfill": "none", "reservation_timeout": "60s"},
    {"order": ["las"], "preempt": ["priority", "reclaim"]},
]


def sources() -> Iterator[tuple[str, str | Path]]:
    """Yield each sample with its name."""
    for path in sorted((HERE / "scenarios").glob("*.yaml")):
        yield path.stem, path
    for seed in SEEDS:
        yield f"organisation {seed}", yaml.safe_dump(organisation(seed), sort_keys=False)


def organisation(seed: int) -> dict[str, Any]:
    """Return a scenario of machines, queues, jobs and mishaps of every kind."""
    rng = random.Random(seed)
    return {
        "policy": ALWAYS[seed % len(ALWAYS)],
        "fleet": {"nodes": _nodes(rng)},
        "queues": _queues(rng),
        "limits": [{"name": "db", "slots": 1}, {"name": "net", "slots": 3}],
        "jobs": [_job(rng, number) for number in range(JOBS)],
        "events": _events(rng),
        "until": UNTIL_S,
    }


def _nodes(rng: random.Random) -> list[dict[str, Any]]:
    two = [[0, 1, 2, 3], [4, 5, 6, 7]]
    return [
        {
            "name": f"a{i}", "cpus": 64, "memory": "256GiB", "gpus": 8, "gpu_model": "A100", "gpu_memory": "80GiB",
            "links": two, "numa": two, "pcie": [[0, 1], [2, 3], [4, 5], [6, 7]], "rack": f"r{i % 2}", "zone": "z1",
            "bandwidth": 10, "price": 20, "disk": "100GiB", "holds": ["images"] if i else [],
        }
        for i in range(3)
    ] + [
        {
            "name": f"t{i}", "cpus": 16, "memory": "64GiB", "gpus": 4, "gpu_model": "T4", "gpu_memory": "16GiB",
            "rack": "r2", "zone": "z2", "bandwidth": 5, "price": rng.choice([2, 3]), "spot": i == 1,
            "labels": {"team": "speech"} if i else {}, "taints": ["old"] if i > 1 else [],
        }
        for i in range(3)
    ]  # fmt: skip


def _queues(rng: random.Random) -> list[dict[str, Any]]:
    return [
        {"name": "org", "limit": {"gpus": rng.choice([24, 30])}},
        {"name": "vision", "parent": "org", "guarantee": {"gpus": 8}, "weight": 2},
        {"name": "speech", "parent": "org", "guarantee": {"gpus": 4}, "limit": {"gpus": 12, "cpus": 60}},
        {"name": "guests", "weight": 0, "limit_per_user": {"gpus": 4}},
        {"name": "short", "order": "sjf", "borrow": rng.random() < 0.5, "defaults": {"max_retries": 1}},
    ]


def _job(rng: random.Random, number: int) -> dict[str, Any]:
    runtime = rng.choice([5, 20, 60, 150, 400])
    words: dict[str, Any] = {
        "name": f"j{number}", "submit": rng.randrange(600), "runtime": runtime,
        "queue": rng.choice(["default", "vision", "vision", "speech", "guests", "short"]),
        "priority": rng.choice([0, 0, 1, 5]), "user": rng.choice(["ann", "bob"]), "stop_time": rng.choice([0, 0, 3]),
        **_demand(rng), **rng.choice([{}, {"time_estimate": runtime}, {"time_limit": runtime + 20}]),
    }  # fmt: skip
    more = (
        ("uses", rng.choice([["db"], ["net"]]), 0.15), ("after", [f"j{rng.randrange(number + 1)}"], 0.1),
        ("checkpoint", {"every": 30, "on_stop": rng.random() < 0.5}, 0.4), ("preemptible", False, 0.1),
        ("exit_code", [1, 0], 0.1), ("max_retries", 2, 0.2), ("start_deadline", 300, 0.1), ("deadline", 900, 0.2),
        ("cancel_after", 100, 0.05), ("inputs", [{"name": rng.choice(["images", "texts"]), "size": "20GiB"}], 0.2),
        ("tolerates", ["old"], 0.3), ("spot", rng.choice(["avoid", "require"]), 0.1),
    )  # fmt: skip
    chosen = [rng.random() < chance for _, _, chance in more]
    mine = f"j{number}"
    return words | {word: value for (word, value, _), yes in zip(more, chosen, strict=True) if yes and value != [mine]}


def _demand(rng: random.Random) -> dict[str, Any]:
    cpus = {"cpus": rng.choice([1, 2, 8])}
    return rng.choice([
        {"gpus": rng.choice([1, 1, 2, 4, 8]), **cpus},
        {"gpus": 1, "tasks": rng.choice([2, 4, 12]), **cpus},
        {"gpus": 1, "tasks": 6, "min_tasks": rng.choice([1, 2])},
        {"gpus": rng.choice([0.25, 0.5, 0.7]), **rng.choice([{}, {"gpu_memory": "10GiB"}])},
        {"gpu_memory": rng.choice(["4GiB", "12GiB"])},
        {"gpus": 2, "gpu_model": rng.choice([["T4"], ["A100", "T4"], ["T4", "A100"]])},
        {"gpus": 4, "topology": {rng.choice(["require", "prefer"]): rng.choice(["nvlink", "numa", "node", "rack"])}},
        {"gpus": 2, "tasks": 4, "topology": {"require": rng.choice(["rack", "zone"])}},
        {"roles": [{"name": "head", "tasks": 1, "cpus": 1}, {"name": "body", "tasks": 3, "min_tasks": 2, "gpus": 1}]},
        {"cpus": rng.choice([4, 16]), "memory": "30GiB", "tasks": 2, "one_per_node": True},
    ])  # fmt: skip


def _events(rng: random.Random) -> list[dict[str, Any]]:
    name = rng.choice(["a0", "t0", "t1"])
    return sorted(
        [
            {"at": 150, "drain": "t0"}, {"at": 260, "undrain": "t0"},
            {"at": 200, "node_lost": name}, {"at": 320, "node_ready": name},
            {"at": 240, "devices_unhealthy": {"node": "a2", "devices": [5, 6]}},
            {"at": 280, "kill_controller": "hard"}, {"at": 300, "start_controller": True},
            {"at": 350, "spot_notice": {"node": "t1", "in": 30}}, {"at": 420, "node_ready": "t1"},
            {"at": 400, "set_queue": {"name": "speech", "guarantee": {"gpus": rng.choice([0, 8])}}},
            {"at": 450, "cancel": f"j{rng.randrange(JOBS)}"},
        ],
        key=lambda event: event["at"],
    )  # fmt: skip


# --- what was decided ------------------------------------------------------------------------------


def decided(source: str | Path) -> list[str]:
    """Return each record of what came of a sample as a line; fields that say nothing are left out."""
    return [line for record in simulate(source).records if (line := _line(record))]


def explained(source: str | Path) -> list[str]:
    """Return what is said at a moment in the middle of a sample: of each waiting job, and of one cycle."""
    outcome = simulate(source)
    world, entries = World(outcome.scenario.policy), list["Entry"]()
    for number, record in enumerate(outcome.records, 1):
        entries.append(Entry(number, record))
        if record.at_us <= MOMENT_S * SECOND_US:
            world.apply(record)
    waiting = [entry.id for entry in world.jobs.values() if entry.state == State.PENDING][:ASKED]
    lines = [_plain("outlook", outlook(world, job, MOMENT_S * SECOND_US)) for job in waiting]
    cycles = [entry.record.cycle for entry in entries if isinstance(entry.record, ev.Planned)]
    for cycle in Again(entries, outcome.scenario.policy).cycles(traced=cycles[len(cycles) // 2]):
        lines += [_plain("turn", turn) for turn in cycle.turns]
    return lines


def _line(record: ev.Record) -> str:
    if isinstance(record, ev.Submitted | ev.NodeAdded | ev.Planned):
        return ""  # what was asked, or how it was worked out, and not what was decided
    return _plain(type(record).__name__, record)


def _plain(name: str, what: object) -> str:
    plain = msgspec.to_builtins(what, order="deterministic")
    said = {key: value for key, value in plain.items() if value not in (None, False, 0, "", [], ())}
    return f"{name} {json.dumps(said, sort_keys=True, separators=(',', ':'))}"


def digests(lines: list[str]) -> str:
    """Return a few digits for each line: where two runs differ first shows."""
    return " ".join(hashlib.sha256(line.encode()).hexdigest()[:DIGITS] for line in lines)


def samples() -> dict[str, Callable[[], list[str]]]:
    """Return how to come by the lines of each sample."""
    found: dict[str, Callable[[], list[str]]] = {name: partial(decided, source) for name, source in sources()}
    for seed in SEEDS:
        source = yaml.safe_dump(organisation(seed), sort_keys=False)
        found[f"organisation {seed}, explained"] = partial(explained, source)
    return found


def main() -> None:
    """Write the samples down; that takes about a minute."""
    kept = {name: digests(lines()) for name, lines in samples().items()}
    FILE.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
