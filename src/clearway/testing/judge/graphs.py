"""The rule that holds in every workflow: its steps run in the order of its graph, on what those before them gave.

Only what cannot have another cause is a breach: runs that a person began again, and steps inside forms (chain, group,
chord), whose order is not said by `after`, are looked at less closely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.testing.judge.rules import OVER
from clearway.testing.judge.values import NEVER, Raw, moment, show
from clearway.testing.judge.world import World, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

EARLY = frozenset({"one_succeeded", "one_failed"})
FORGIVES = frozenset({"all_done", "all_failed", *EARLY})
NEVER_RAN = frozenset({"skipped", "upstream_failed"})
OWN_INPUT = ("args", "each", "until", "workflow")


def graphs(w: World) -> Iterator[str]:
    """Check the workflows of a scenario."""
    for words in w.scenario.get("workflows") or []:
        name, entry = words["name"], w.timeline.get("workflows", {}).get(words["name"])
        if entry is not None:
            steps = {s["name"]: s for s in steps_of(words) if "name" in s and not _is_form(s)}
            yield from _end(w, name, entry, steps)
            for step, said in steps.items():
                if step in entry["steps"]:
                    yield from _order(w, name, step, said)
                    yield from _step(w, f"{name}.{step}", entry["steps"][step], said)
                    if not w.reran(name):
                        yield from _handed(entry, f"{name}.{step}", entry["steps"][step], said)


def _is_form(step: Raw) -> bool:
    return any(form in step for form in ("chain", "group", "chord"))


def _befores(said: Raw) -> list[str]:
    each = said.get("each")
    more = [each.split(".")[0]] if isinstance(each, str) else []
    return [*(said.get("after") or []), *more]


def _end(w: World, name: str, entry: Raw, steps: dict[str, Raw]) -> Iterator[str]:
    over = entry["ended"] is not None
    if over != (entry["state"] in OVER):
        yield f"{name} is {entry['state']}, ended: {entry['ended']}"
    if over:
        open_ = [step for step, one in entry["steps"].items() if one["state"] not in OVER and "[" not in step]
        tails = [step for step in open_ if step.endswith(".undo") or step not in steps]
        error = (w.scenario_flow(name).get("on_error") or {}).get("name")
        if left := [step for step in open_ if step not in tails and step != error]:
            yield f"{name} is over, and its steps {', '.join(left)} are not"
        for job in w.kin(name):
            late = [a for a in w.jobs[job]["attempts"] if moment(a["from"]) > moment(entry["ended"])]
            if late:
                yield f"{job} starts at {late[0]['from']} s, after {name} has ended at {entry['ended']} s"
    forgiving = any(said.get("rule") in FORGIVES for said in steps.values())
    failed = [step for step in steps if entry["steps"].get(step, {}).get("state") == "failed"]
    if entry["state"] == "succeeded" and failed and not forgiving:
        yield f"{name} has succeeded, and its step {failed[0]} has failed"


def _order(w: World, name: str, step: str, said: Raw) -> Iterator[str]:
    """Check that nothing starts before those that it waits for are over."""
    if said.get("rule") in EARLY or w.reran(name):
        return
    starts = [moment(a["from"]) for job in w.kin(f"{name}.{step}") for a in w.jobs[job]["attempts"]]
    for before in _befores(said):
        ends = [moment(w.jobs[job]["ended"]) for job in w.kin(f"{name}.{before}")]
        if starts and ends and min(starts) < max(ends):
            when = "has not ended" if max(ends) == NEVER else f"ends at {show(max(ends))}"
            yield f"{name}.{step} starts at {show(min(starts))}, and {before} {when}"


def _step(w: World, name: str, entry: Raw, said: Raw) -> Iterator[str]:
    """Check what a step came to against what ran of it."""
    if "pause" in said or "workflow" in said:
        return
    ran = [job for job in w.kin(name) if w.jobs[job]["attempts"]]
    by_hand = any("skip" in event for _, event in w.events) or w.reran(name.split(".", maxsplit=1)[0])
    if entry["state"] in NEVER_RAN and ran and not by_hand and not _left_itself(w, ran):
        yield f"{name} is {entry['state']}, and {ran[0]} ran"
    if entry["state"] == "succeeded" and not ran and "each" not in said and not by_hand:
        yield f"{name} has succeeded, and nothing of it ran"
    items = entry.get("input")
    if entry["state"] == "succeeded" and "each" in said and "args" not in said and isinstance(items, list):
        results = entry.get("result")
        if not isinstance(results, list) or len(results) != len(items):
            yield f"{name} has {len(items)} items, and its result is {results!r:.80}"


def _left_itself(w: World, jobs: list[str]) -> bool:
    return any(w.jobs[job]["state"] == "skipped" for job in jobs)


def _handed(flow: Raw, name: str, entry: Raw, said: Raw) -> Iterator[str]:
    """Check that a step behind a single one was handed its result."""
    before = said.get("after") or []
    if len(before) != 1 or any(word in said for word in OWN_INPUT) or said.get("rule") in EARLY:
        return
    if before[0] not in flow["steps"] or entry["state"] not in ("succeeded", "failed"):
        return
    given = flow["steps"][before[0]].get("result")
    if entry.get("input") != given:
        yield f"{name} was handed {entry.get('input')!r:.60}, and {before[0]} gave {given!r:.60}"
