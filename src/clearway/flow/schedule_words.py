"""The words of a schedule."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from clearway.flow.ticks import check_cron, check_zone
from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.flow import ScheduleSpec
from clearway.model.words import Word, named, read_job, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.model.flow import FlowSpec

CATCHUPS, OVERLAPS = ("none", "latest", "all"), ("skip", "queue", "allow", "replace")


def _cron(field: str, value: object) -> str:
    return check_cron(field, v.text(field, value))


def _zone(field: str, value: object) -> str:
    return check_zone(field, v.name(field, value))


def _catchup(field: str, value: object) -> str:
    return v.choice(field, value, CATCHUPS)


def _overlap(field: str, value: object) -> str:
    return v.choice(field, value, OVERLAPS)


def _skipped(field: str, value: object) -> str:
    return v.choice(field, value, ("run", "skip"))


def _repeated(field: str, value: object) -> str:
    return v.choice(field, value, ("first", "both"))


def _exclude(field: str, value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise InputError(field, value, EXCLUDE_RULE)
    return tuple(_days(f"{field}[{i}]", one) for i, one in enumerate(value))


def _days(field: str, value: object) -> tuple[str, str]:
    if not isinstance(value, dict):
        day = _day(field, value)
        return day, day
    given = read_words(field, value, EXCLUDE_WORDS)
    if "from" not in given or "to" not in given or given["to"] < given["from"]:
        raise InputError(field, value, EXCLUDE_RULE)
    return given["from"], given["to"]


def _day(field: str, value: object) -> str:
    try:
        return date.fromisoformat(v.text(field, value)).isoformat()
    except ValueError:
        raise InputError(field, value, EXCLUDE_RULE) from None


EXCLUDE_RULE = "days such as 2026-12-24, or {from: 2026-12-24, to: 2027-01-01}"
EXCLUDE_WORDS: dict[str, Word] = {
    "from": Word(_day, "text", "the first day"),
    "to": Word(_day, "text", "the last day"),
}
DST_WORDS: dict[str, Word] = {
    "skipped": Word(_skipped, "text", "a time that the clocks leave out: run or skip"),
    "repeated": Word(_repeated, "text", "a time that they show twice: first or both"),
}


def _dst(field: str, value: object) -> dict[str, str]:
    return dict(read_words(field, value, DST_WORDS))


SCHEDULE_WORDS: dict[str, Word] = {
    "name": Word(v.name, "text", "name of the schedule; its runs are called name@tick"),
    "cron": Word(_cron, "text", "five fields, or six with seconds first, or @daily and the like"),
    "timezone": Word(_zone, "text", "time zone of the ticks, by its IANA name"),
    "job": Word(lambda _, value: value, "nested", "the words of the job that each tick runs"),
    "workflow": Word(v.name, "text", "the workflow that each tick runs"),
    "from": Word(v.instant, "text", "ticks before it do not exist"),
    "to": Word(v.instant, "text", "ticks after it do not exist"),
    "catchup": Word(_catchup, "text", "ticks missed while nothing could fire: " + ", ".join(CATCHUPS)),
    "overlap": Word(_overlap, "text", "a tick while a run is there: " + ", ".join(OVERLAPS)),
    "after_previous": Word(v.flag, "flag", "a run starts only when that of the tick before has succeeded"),
    "jitter": Word(v.duration, "text", "a run starts up to so much later, the same for the same tick"),
    "exclude": Word(_exclude, "nested", "days of its time zone on which nothing runs, and ranges {from: .., to: ..}"),
    "dst": Word(_dst, "nested", "{skipped: run or skip, repeated: first or both}: when clocks change"),
}


def read_schedule(
    raw: object,
    flows: Mapping[str, FlowSpec],
    defaults: Mapping[str, object] | None = None,
    extra: frozenset[str] = frozenset(),
) -> ScheduleSpec:
    """Read a schedule. `flows` are the workflows that it may name, `defaults` job words, `extra` words of others."""
    place = named("schedule", raw)
    given = read_words(place, raw, SCHEDULE_WORDS)
    for word in ("name", "cron"):
        if word not in given:
            raise InputError(word, None, f"every schedule has a {word}", place)
    if ("job" in given) == ("workflow" in given):
        raise InputError("job", None, "either a job or a workflow", place)
    job = flow = None
    if "job" in given:
        if not isinstance(given["job"], dict):
            raise InputError("job", given["job"], "a map of words", place)
        job = read_job({"name": given["name"], **given["job"]}, defaults, extra)
    elif given["workflow"] in flows:
        flow = flows[given["workflow"]]
    else:
        raise InputError("workflow", given["workflow"], "a workflow that is there", place)
    dst = given.get("dst", {})
    if "from" in given and "to" in given and given["to"] < given["from"]:
        raise InputError("to", str(raw.get("to") if isinstance(raw, dict) else ""), "not before `from`", place)
    return ScheduleSpec(
        given["name"], given["cron"], given.get("timezone", "UTC"), job, flow, given.get("from"), given.get("to"),
        given.get("catchup", "none"), given.get("overlap", "skip"), given.get("after_previous", False),
        dst.get("skipped", "run"), dst.get("repeated", "first"), given.get("exclude", ()),
        given.get("jitter", 0),
    )  # fmt: skip
