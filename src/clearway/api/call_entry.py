"""The queue of calls of this controller: what options of tasks mean here, and what the jobs of their workers are."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from clearway.api.admission import admit, defaults_for
from clearway.api.call_files import sweep_values, value_path
from clearway.api.queues import DEFAULT
from clearway.api.secrets import check_secrets
from clearway.calls.pools import Pool
from clearway.calls.service import CallService, Surroundings
from clearway.calls.words import plain_words, read_rules
from clearway.compose.stores import open_calls
from clearway.model.errors import InputError
from clearway.model.events import Submitted
from clearway.model.words import read_job

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.calls.wire import Recipe
    from clearway.calls.words import Rules
    from clearway.compose.assemble import Assembled
    from clearway.control import JobRow
    from clearway.model.job import JobSpec

_WORKER = re.compile("(?:worker|actor)-([0-9]+)-[0-9]+")
ACTOR = "CLEARWAY_ACTOR"
"""Variable by which a worker knows that it is an actor."""
POOL = "CLEARWAY_POOL"
"""Variable by which a worker knows whose calls it works on."""


def call_service(desk: Desk, parts: Assembled) -> CallService:
    """Return the queue of calls of a controller that has taken over; it is not started yet."""

    def rules(recipe: Recipe) -> Rules:
        words = plain_words(recipe.words)
        defaults = defaults_for(desk, words.get("queue"), words.get("user"))
        return read_rules(words, defaults, actor=bool(recipe.actor))

    def judge(found: Rules) -> None:
        spec = worker_job(Pool(0, found.pool), 0)
        _check_runs(spec)
        _check_there(desk, spec)
        admit(desk, spec)
        check_secrets(desk, spec.secrets, spec.user, spec.tenant)

    def pool_of(row: JobRow) -> int | None:
        return _pool_of(desk, row)

    def drop(names: list[str]) -> None:
        for name in names:
            value_path(desk, name).unlink(missing_ok=True)

    def sweep(age_us: int, keep: set[str]) -> None:
        sweep_values(desk.settings.home, age_us, keep)

    tables = open_calls(desk.settings, parts.journal)
    around = Surroundings(rules, judge, worker_job, pool_of, drop, sweep)
    service = CallService(tables, parts.controller, around, desk.settings.most_calls)
    desk.board.on_attempt_over = service.attempt_over
    return service


def worker_job(pool: Pool, count: int) -> JobSpec:
    """Return the job of one worker of a pool."""
    words: dict[str, Any] = json.loads(pool.words)
    env = {
        **words.get("env", {}),
        POOL: str(pool.id),
        **({ACTOR: "detached" if pool.detached else "1"} if pool.actor else {}),
    }
    name = f"{'actor' if pool.actor else 'worker'}-{pool.id}-{count}"
    return read_job({"checkpoint": {"grace": "5s"}, **words, "name": name, "env": env})


def _check_there(desk: Desk, spec: JobSpec) -> None:
    """Raise InputError for a queue or a shared limit that does not exist: no worker could ever be had."""
    queues = {DEFAULT, *desk.board.queues}
    if spec.queue not in queues:
        raise InputError("queue", spec.queue, "a queue that exists: " + ", ".join(sorted(queues)[:20]), "task")
    for name in spec.uses:
        if name not in desk.board.limits:
            raise InputError("uses", name, "a shared limit that exists", "task")


def _pool_of(desk: Desk, row: JobRow) -> int | None:
    """Return the pool that a job is a worker of: by its name, and by the words that it was submitted with."""
    named = _WORKER.fullmatch(row.name)
    if named is None:
        return None
    words = [record.spec for record in desk.records(row.id) if isinstance(record, Submitted)]
    return int(named[1]) if words and dict(words[0].env).get(POOL) == named[1] else None


def _check_runs(spec: JobSpec) -> None:
    if not spec.run:
        raise InputError("run", None, "how a worker of this task is started")
    if not spec.workdir.startswith("/"):
        raise InputError("workdir", spec.workdir, "a whole path: the controller runs in another directory")
