"""The queue of calls of this controller: what options of tasks mean here, and what the jobs of their workers are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clearway.api.admission import admit, defaults_for
from clearway.calls.service import CallService
from clearway.calls.words import plain_words, read_rules
from clearway.compose.stores import open_calls
from clearway.model.errors import InputError
from clearway.model.words import read_job

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.calls.words import Rules
    from clearway.compose.assemble import Assembled
    from clearway.model.job import JobSpec

POOL = "CLEARWAY_POOL"
"""Variable by which a worker knows whose calls it works on."""


def call_service(desk: Desk, parts: Assembled) -> CallService:
    """Return the queue of calls of a controller that has taken over; it is not started yet."""

    def rules(said: str) -> Rules:
        words = plain_words(said)
        found = read_rules(words, defaults_for(desk, words.get("queue"), words.get("user")))
        spec = worker_job(json.loads(found.pool), 0, 0)
        _check_runs(spec)
        admit(desk, spec)
        return found

    def spec_of(words: str, pool: int, count: int) -> JobSpec:
        return worker_job(json.loads(words), pool, count)

    service = CallService(open_calls(desk.settings, parts.journal), parts.controller, rules, spec_of)
    desk.board.on_attempt_over = service.attempt_over
    return service


def worker_job(words: dict[str, Any], pool: int, count: int) -> JobSpec:
    """Return the job of one worker of a pool."""
    env = {**words.get("env", {}), POOL: str(pool)}
    return read_job({**words, "name": f"worker-{pool}-{count}", "env": env, "checkpoint": {"grace": "5s"}})


def _check_runs(spec: JobSpec) -> None:
    if not spec.run:
        raise InputError("run", None, "how a worker of this task is started")
    if not spec.workdir.startswith("/"):
        raise InputError("workdir", spec.workdir, "a whole path: the controller runs in another directory")
