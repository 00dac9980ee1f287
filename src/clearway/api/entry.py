"""The words of a submit, read into jobs: all or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.api.admission import admit, defaults_for
from clearway.api.code import check_code
from clearway.api.secrets import check_secrets
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.tracing import read_traceparent
from clearway.model.values import SECOND_US
from clearway.model.words import JOB_WORDS, read_job

if TYPE_CHECKING:
    from fastapi import Request

    from clearway.api.desk import Desk
    from clearway.model.job import JobSpec


DEADLINE_RULE = "a time like 2026-12-01T08:00:00Z, with an offset"
FIRST_DEADLINE_US = 946_684_800 * SECOND_US
"""The year 2000: what lies before it was meant as seconds from a scenario's start."""


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
    return tuple(_read_one(desk, i, words, to_run=to_run) for i, words in enumerate(jobs))


def traced(request: Request, specs: tuple[JobSpec, ...]) -> tuple[JobSpec, ...]:
    """Return jobs as parts of the trace of whoever submits them, where the request says which."""
    traceparent = read_traceparent(request.headers.get("traceparent", ""))
    return tuple(replace(spec, traceparent=traceparent) for spec in specs) if traceparent else specs


def with_key(raw: object, key: str | None) -> object:
    """Return a body whose jobs without an `idempotency_key` of their own have one that follows from the request's."""
    if key is None or not isinstance(raw, dict) or not isinstance(raw.get("jobs"), list):
        return raw
    jobs = raw["jobs"]
    keys = [key] if len(jobs) == 1 else [f"{key}/{number}" for number in range(len(jobs))]
    told = [
        {"idempotency_key": one, **job} if isinstance(job, dict) else job for one, job in zip(keys, jobs, strict=True)
    ]
    return {**raw, "jobs": told}


def _read_one(desk: Desk, index: int, words: object, *, to_run: bool) -> JobSpec:
    place = f"jobs[{index}]"
    if not isinstance(words, dict):
        raise InputError("jobs", words, "each job is a map of words", place)
    if "pin" in words:
        raise UnknownWordError.of("pin", JOB_WORDS, place)  # a scenario's word: here the policy places
    try:
        defaults = defaults_for(desk, words.get("queue"), words.get("user"))
        _check_deadline({**defaults, **words}.get("deadline"))
        spec = read_job(words, defaults)
        admit(desk, spec)
        if to_run:
            check_runs(desk, spec, "a job")
        return spec
    except InputError as error:
        raise error.at(f"{place}, {error.place}" if error.place else place) from None


def _check_deadline(value: object) -> None:
    if isinstance(value, int | float):  # seconds from the start, which only a scenario has
        raise InputError("deadline", value, DEADLINE_RULE)


def check_runs(desk: Desk, spec: JobSpec, what: str, place: str = "") -> None:
    """Raise InputError for a job (`what` it is in a sentence) that has no command, or one that could not run here.

    Also one that says what only a scenario can.
    """
    if spec.pin is not None:
        raise UnknownWordError.of("pin", JOB_WORDS, place)
    if spec.deadline_us is not None and spec.deadline_us < FIRST_DEADLINE_US:
        raise InputError("deadline", spec.deadline_us // SECOND_US, DEADLINE_RULE, place)
    if not spec.run:
        raise InputError("run", None, f"{what} has a command to run", place)
    if not spec.workdir.startswith("/"):
        raise InputError("workdir", spec.workdir, "a whole path: the controller runs in another directory", place)
    try:
        check_code(desk, spec.code)
        check_secrets(desk, spec.secrets, spec.user, spec.tenant)
    except InputError as error:
        raise (error.at(place) if place else error) from None
