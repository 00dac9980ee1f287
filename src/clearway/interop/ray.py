"""The jobs of a Ray cluster: what `GET /api/jobs/` answers, or `ray list jobs --format json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.interop.documents import is_json, objects
from clearway.interop.importing import Past, Source
from clearway.model.errors import InputError
from clearway.model.values import MILLI
from clearway.sim.workloads.writer import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.interop.gaps import Gaps
    from clearway.interop.importing import Options
    from clearway.sim.workloads.textfile import Head

MILLISECOND_US = 1000
LATEST_MS = 10**14
OVER = {"SUCCEEDED": 0, "FAILED": 1, "STOPPED": 1}
OPEN = ("PENDING", "RUNNING")
NAMES, USERS, QUEUES = ("job_name", "name"), ("user", "job_submission_user", "owner"), ("queue", "team")
LACKS = (
    "when a job began to run: it runs from its submit to its end, waits included",
    "what the tasks and actors of a job held: it asks for what its entrypoint reserved",
    "who submitted a job, and its queue: taken from its metadata (user, queue) where they stand there",
)


def _matches(head: Head) -> bool:
    text = "".join(head.lines)
    return is_json(head) and '"entrypoint"' in text and '"status"' in text


def _read(path: Path, options: Options, gaps: Gaps, told: Callable[[int], None]) -> Iterator[Past]:
    del options
    for what in LACKS:
        gaps.lack(what)
    for line, raw in objects(path, told, as_json=True):
        try:
            job = _job(line, raw, gaps)
        except InputError as error:
            gaps.refuse(line, error)
            continue
        if job is not None:
            yield job


def _job(line: int, raw: dict[str, Any], gaps: Gaps) -> Past | None:
    status = raw.get("status")
    if status in OPEN:
        gaps.leave("jobs that are not over")
        return None
    if not isinstance(status, str) or status not in OVER:
        raise InputError("status", status, f"one of {', '.join([*OVER, *OPEN])}")
    start_ms, end_ms = _moment(raw, "start_time"), _moment(raw, "end_time")
    if end_ms < start_ms:
        raise InputError("end_time", end_ms, f"not before start_time ({start_ms})")
    if not raw.get("submission_id"):
        gaps.assume("it was a driver that somebody started, not a submitted job")
    if status == "STOPPED":
        gaps.assume("somebody stopped it: it runs as long as it did then, and fails")
    run = seconds((end_ms - start_ms) * MILLISECOND_US)
    ident = str(raw.get("submission_id") or raw.get("job_id") or f"line-{line}")
    told: dict[str, object] = {"runtime": run, "exit_code": _exit_code(raw, status), "took": run}
    return Past(start_ms * MILLISECOND_US, line, {"labels": {"id": ident}, **_said(raw, ident), **_needs(raw), **told})


def _moment(raw: dict[str, Any], key: str) -> int:
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < LATEST_MS:
        raise InputError(key, value, "milliseconds since 1970")
    return value


def _exit_code(raw: dict[str, Any], status: str) -> int:
    code = raw.get("driver_exit_code")
    if not OVER[status]:
        return 0
    return code if isinstance(code, int) and 1 <= code <= 255 else 1  # noqa: PLR2004 - the last exit code


def _said(raw: dict[str, Any], ident: str) -> dict[str, object]:
    """Return name, user and queue, from the metadata of the job."""
    given = raw.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    said: dict[str, object] = {"name": _first(metadata, NAMES) or ident}
    for word, keys in (("user", USERS), ("queue", QUEUES)):
        found = _first(metadata, keys)
        if found:
            said[word] = found
    return said


def _first(metadata: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((value for key in keys if isinstance(value := metadata.get(key), str) and value), None)


def _needs(raw: dict[str, Any]) -> dict[str, object]:
    """Return what the entrypoint reserved. More than one GPU counts in whole ones, as Ray has it."""
    words: dict[str, object] = {}
    for key, word in (
        ("entrypoint_num_cpus", "cpus"),
        ("entrypoint_num_gpus", "gpus"),
        ("entrypoint_memory", "memory"),
    ):
        if raw.get(key):
            words[word] = raw[key]
    cpus, gpus = words.get("cpus"), words.get("gpus")
    if isinstance(gpus, float) and gpus.is_integer():
        words["gpus"] = int(gpus)
    if isinstance(cpus, float) and cpus * MILLI < 1:
        del words["cpus"]
    others = raw.get("entrypoint_resources")
    if isinstance(others, dict):
        counts = {name: int(n) for name, n in others.items() if isinstance(n, int | float) and 1 <= n < 10**6}
        words |= {"resources": counts} if counts else {}
    return words


RAY = Source("ray", "a list of Ray's jobs (JSON)", _matches, _read)
