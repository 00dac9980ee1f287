"""Tasks as batch jobs of Slurm, one each."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from clearway.engines.slurm.commands import jobs_of, nodes_of, slurm
from clearway.model.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.config.engine_words import Slurm
    from clearway.engines.slurm.commands import Job, Node

MINUTE_US = 60_000_000
SPARE_MINUTES = 10
"""So much longer Slurm leaves a task than its time limit: Clearway stops it, with its grace."""


class Jobs:
    """The jobs whose names begin with `prefix`, on the nodes that `words` say."""

    def __init__(self, words: Slurm, prefix: str) -> None:
        self._words, self._prefix = words, prefix

    def nodes(self) -> list[Node]:
        """Return the nodes. Raises EngineError where there is none."""
        found = nodes_of(self._words.partition)
        if not found:
            raise EngineError(f"Slurm has no node in the partition {self._words.partition!r}")
        return found

    def known(self) -> dict[str, Job]:
        """Return the jobs, by what their names end with."""
        return jobs_of(self._prefix)

    def submit(self, key: str, order: Mapping[str, Any], command: Sequence[str], gres: Sequence[str]) -> None:
        """Submit a batch job of one task on one node. Raises EngineError where Slurm refuses it."""
        words, limit_us = self._words, order["limit_us"]
        chosen = {
            "cpus-per-task": str(max(order["cpus"], 1)), "mem": f"{order['memory']}M" if order["memory"] else "",
            "time": str(-(-limit_us // MINUTE_US) + SPARE_MINUTES) if limit_us else "",
            "partition": words.partition, "account": words.account, "qos": words.qos,
        }  # fmt: skip
        slurm(
            "sbatch", "--parsable", f"--job-name={self._prefix}{key}", f"--nodelist={order['node']}", "--nodes=1",
            "--ntasks=1", "--no-requeue", "--output=/dev/null", "--input=/dev/null", "--export=ALL", "--chdir=/",
            *(f"--{word}={value}" for word, value in chosen.items() if value), *gres,
            given=f"#!/bin/sh\nexec {shlex.join(command)}\n",
        )  # fmt: skip

    def cancel(self, _key: str, job: Job) -> None:
        """Take a job back that waits."""
        slurm("scancel", "--state=PENDING", job.number)

    def close(self) -> None:
        """Leave the jobs to themselves: nothing here belongs to them."""
