"""Tasks as batch jobs of Slurm, one each."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from clearway.engines.slurm.commands import MEBI, MILLI, PASSING, gres_words, jobs_of, nodes_of, run, said_by, slurm
from clearway.model.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.config.engine_words import Slurm
    from clearway.engines.slurm.commands import Job, Node

MINUTE_US = 60_000_000
SPARE_MINUTES = 10
"""So much longer Slurm leaves a task than its time limit: Clearway stops it, with its grace."""
REFUSAL = "submission failed"
"""What sbatch says where Slurm has looked at a job and does not take it."""


class Jobs:
    """The jobs whose names begin with `prefix`, on the nodes that `words` say."""

    def __init__(self, words: Slurm) -> None:
        self._words, self.prefix = words, ""
        self._all_is_taken: dict[str, bool] = {}
        """By partition: whether a job that says no memory gets all of its node, so that no other one can be there."""

    def nodes(self) -> list[Node]:
        """Return the nodes. Raises EngineError where there is none."""
        found = nodes_of(self._words.partition)
        if not found:
            raise EngineError(f"Slurm has no node in the partition {self._words.partition!r}")
        return found

    def known(self) -> dict[str, Job]:
        """Return the jobs, by what their names end with."""
        return jobs_of(self.prefix)

    def submit(self, key: str, order: Mapping[str, Any], command: Sequence[str], node: Node) -> str:
        """Submit a batch job of one task on one node, and return why Slurm refuses it, "" where it takes it.

        Raises EngineError where it cannot be told: then it may have it all the same.
        """
        words, partition = self._words, self._words.partition or node.partition
        cpus = max(order["cpus"], 1)
        memory = order["memory"] or (_part(node, cpus) if self._takes_all(partition) else 0)
        chosen = {
            "cpus-per-task": str(cpus), "mem": f"{memory}M" if memory else "",
            "time": _time(order["limit_us"], node.limit_us), "partition": partition,
            "account": words.account, "qos": words.qos,
        }  # fmt: skip
        done = run(
            "sbatch", "--parsable", f"--job-name={self.prefix}{key}", f"--nodelist={order['node']}", "--nodes=1",
            "--ntasks=1", "--no-requeue", "--output=/dev/null", "--input=/dev/null", "--export=ALL", "--chdir=/",
            *(f"--{word}={value}" for word, value in chosen.items() if value), *gres_words(node, order["devices"]),
            given=f"#!/bin/sh\nexec {shlex.join(command)}\n",
        )  # fmt: skip
        if done.returncode == 0:
            return ""
        why = said_by(done)
        if REFUSAL not in done.stderr or PASSING.search(why):
            raise EngineError(f"sbatch: {why}")
        return why

    def _takes_all(self, partition: str) -> bool:
        if partition not in self._all_is_taken:
            told = slurm("scontrol", "show", "config") + slurm("scontrol", "show", "partition", "--oneliner", partition)
            counts = re.search(r"^SelectTypeParameters\s*=.*MEM", told, re.MULTILINE | re.IGNORECASE)
            self._all_is_taken[partition] = bool(counts) and not re.search(r"DefMemPer\w+\s*=\s*\d", told)
        return self._all_is_taken[partition]

    def withdraw(self, _key: str, job: Job) -> None:
        """Take a job back if it waits."""
        slurm("scancel", "--state=PENDING", job.number)

    def close(self) -> None:
        """Leave the jobs to themselves: nothing here belongs to them."""


def _time(limit_us: int, most_us: int | None) -> str:
    """Return the minutes that Slurm is to leave a task, "" for no limit.

    One without a limit has what the partition gives at most, not what it gives those that say nothing.
    """
    minutes = [-(-limit_us // MINUTE_US) + SPARE_MINUTES] if limit_us else []
    minutes += [most_us // MINUTE_US] if most_us is not None else []
    return str(min(minutes)) if minutes else ""


def _part(node: Node, cpus: int) -> int:
    """Return the memory (MiB) that goes with so many CPUs of a node."""
    return node.spec.memory * cpus * MILLI // node.spec.cpus // MEBI
