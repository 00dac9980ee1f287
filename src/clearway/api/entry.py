"""The words of a submit, read into jobs: all or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.api.code import check_code
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.words import JOB_WORDS, read_job

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.api.desk import Desk
    from clearway.control import QueueRow
    from clearway.model.job import JobSpec

_DEEPEST = 100  # of queues; more levels than that are a circle


def read_jobs(desk: Desk, raw: object, *, to_run: bool = True) -> tuple[JobSpec, ...]:
    """Read `{"jobs": [words, ..]}`, with the defaults of each job's queue. Raises InputError for the first bad one.

    Without `to_run` a job need not say what it runs.
    """
    if not isinstance(raw, dict):
        raise InputError("body", raw, '{"jobs": [..]}')
    for key in raw:
        if key != "jobs":
            raise UnknownWordError.of(key, ("jobs",), "body")
    jobs = raw.get("jobs")
    if not isinstance(jobs, list) or not jobs:
        raise InputError("jobs", jobs, "a list of one job or more")
    own = {"user": desk.login, "workdir": str(Path.home())}
    return tuple(_read_one(desk, own, i, words, to_run=to_run) for i, words in enumerate(jobs))


def _read_one(desk: Desk, own: dict[str, Any], index: int, words: object, *, to_run: bool) -> JobSpec:
    place = f"jobs[{index}]"
    if not isinstance(words, dict):
        raise InputError("jobs", words, "each job is a map of words", place)
    if "pin" in words:
        raise UnknownWordError.of("pin", JOB_WORDS, place)  # a scenario's word: here the policy places
    try:
        defaults = {**own, **queue_defaults(desk.board.queues, words.get("queue"))}
        _check_deadline({**defaults, **words}.get("deadline"))
        spec = read_job(words, defaults)
        if to_run:
            _check_runs(spec)
            check_code(desk, spec.code)
        return spec
    except InputError as error:
        raise error.at(f"{place}, {error.place}" if error.place else place) from None


def _check_deadline(value: object) -> None:
    if isinstance(value, int | float):  # seconds from the start, which only a scenario has
        raise InputError("deadline", value, "a time like 2026-12-01T08:00:00Z, with an offset")


def _check_runs(spec: JobSpec) -> None:
    if not spec.run:
        raise InputError("run", None, "a job has a command to run")
    if not spec.workdir.startswith("/"):
        raise InputError("workdir", spec.workdir, "a whole path: the controller runs in another directory")


def queue_defaults(queues: Mapping[str, QueueRow], queue: object) -> dict[str, Any]:
    """Return the defaults of a queue: of those upwards from it, the nearest that states a word decides it."""
    found: dict[str, Any] = {}
    name = queue if isinstance(queue, str) else "default"
    for _ in range(_DEEPEST):
        row = queues.get(name)
        if row is None:
            break
        found = {**json.loads(row.spec.defaults), **found}
        name = row.spec.parent
    return found
