"""Files of jobs: one job, a list of jobs, or `{jobs: [..]}`; several documents count together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.cli.yaml_files import read
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def jobs_of_files(paths: Iterable[str]) -> list[dict[str, Any]]:
    """Return the words of all jobs, in order; raises InputError for a file that is none or has none."""
    return [job for path in paths for job in _jobs_of_file(path)]


def _jobs_of_file(path: str) -> list[dict[str, Any]]:
    found = [job for document in read(path) for job in _jobs_of(document, path)]
    if not found:
        raise InputError("jobs", None, "at least one job in a file", path)
    return found


def _jobs_of(document: object, path: str) -> Iterator[dict[str, Any]]:
    entries = _entries(document, path)
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise InputError(f"jobs[{number}]", entry, "a map of words", path)
        yield entry


def _entries(document: object, path: str) -> list[object]:
    if not (isinstance(document, dict) and "jobs" in document):
        return document if isinstance(document, list) else [document]
    others = sorted(str(key) for key in document if key != "jobs")
    if others:
        raise InputError(others[0], document[others[0]], "a file of jobs holds `jobs` and nothing beside it", path)
    jobs = document["jobs"]
    if not isinstance(jobs, list):
        raise InputError("jobs", jobs, "a list of jobs", path)
    return jobs
