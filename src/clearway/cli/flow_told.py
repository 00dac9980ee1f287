"""How a workflow stands, step by step, with what is inside it and what tells why."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.cli import shown
from clearway.cli.ps import where_or_why
from clearway.sdk.flows.told import culprit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.cli.shell import Shell

Row = dict[str, Any]
TOLD = ("running", "failed", "cancelled")
"""States of steps of which `why` tells."""


class Told(NamedTuple):
    """A step with how deep it lies in workflows inside, and what is to be said of it."""

    depth: int
    step: Row
    text: str


def headline(row: Row) -> str:
    """Return a workflow in a line."""
    why = f": {row['reason']['text']}" if row["reason"] else ""
    return f"workflow {row['id']} ({row['name']}), run {row['run']}, is {row['state']}{why}"


def steps_of(row: Row, depth: int = 0) -> Iterator[Told]:
    """Yield the steps of a workflow, each followed by those of the workflow that it is, where that is not over well."""
    states = {step["name"]: step["state"] for step in row["steps"]}
    for step in row["steps"]:
        yield Told(depth, step, _outcome(row, step, states))
        if step["inner"] is not None:
            yield from steps_of(step["inner"], depth + 1)


def _outcome(flow: Row, step: Row, states: dict[str, str]) -> str:
    if step["pause"]:
        handed = "" if step["input"] is None else f" (handed: {json.dumps(step['input'], ensure_ascii=False)})"
        return f"waits for a person: {step['pause']}{handed}"
    if step["reason"]:
        return str(step["reason"]["text"])
    if step["state"] == "succeeded":
        return json.dumps(step["result"], ensure_ascii=False)
    if step["state"] == "pending":
        left = [name for name in step["after"] if states[name] in ("pending", "running")]
        return f"waits for {', '.join(left)}" if left else shown.NOTHING
    return _of_job(flow, step)


def _of_job(flow: Row, step: Row) -> str:
    """Return what the job (or workflow) of a step tells, by its name where the step is not that alone."""
    found = step["job"] or step["inner"]
    if found is None:
        return shown.NOTHING
    part = found["name"].removeprefix(f"{flow['name']}.")
    name = "" if part == step["name"] else f"{part}: "
    if step["job"] is None:
        return f"{name}{found['reason']['text'] if found['reason'] else found['state']}"
    return f"{name}{'on ' if found['state'] == 'running' else ''}{where_or_why(found)}"


def tell_why(shell: Shell, row: Row, step: str = "") -> None:
    """Tell why a workflow is not over, or how it ended: of each step (or the one that is named) what counts."""
    shell.line(headline(row))
    for one in steps_of(row):
        if one.step["name"] == step or (not step and one.step["state"] in TOLD):
            shell.line(f"{'  ' * (one.depth + 1)}{shown.plain(one.step['name'])} {exact(one.step)}: {one.text}")
    tell_next(shell, row)


def exact(step: Row) -> str:
    """Return the state of a step; in brackets that of its job where that says more."""
    waits = step["state"] == "running" and step["job"] is not None and step["job"]["state"] == "pending"
    return f"{step['state']} (waits)" if waits else str(step["state"])


def tell_next(shell: Shell, row: Row) -> None:
    """Tell on stderr what could be asked or done next."""
    name = shlex.quote(row["name"])
    for step in row["asks"][:1]:
        which = f" --step {shlex.quote(step)}" if len(row["asks"]) > 1 else ""
        shell.note(f"to answer: clearway flow resume {name}{which} --value ..")
    job = culprit(row)
    if job is not None:
        shell.note(f"what it wrote: clearway logs --stderr {shlex.quote(job['name'])}")
        if row["state"] == "failed":
            shell.note(f"to run it again from there: clearway flow retry {name}")
