"""`clearway why`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import shown
from clearway.cli.choices import JOB
from clearway.cli.flow_told import tell_why
from clearway.cli.outlooks import outlook_lines
from clearway.cli.past import asked
from clearway.cli.shell import Shell, command
from clearway.model.errors import ConflictError, ControllerError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.sdk.client import Client

_NOW = {"pending": "waits", "starting": "is being started", "stopping": "is being stopped", "suspended": "stands still"}
COUNTED = ("no-capacity", "never-fits")
"""Reasons that count nodes: recorded when they come, and not again when only a count is another."""
_KIND = {
    "started": "started",
    "stopping": "was told to stop",
    "attempt_ended": "ended",
    "requeued": "went back to wait",
}


@command("why")
@JOB
@click.option("--brief", is_flag=True, help="Only what was recorded: do not work out what would change it.")
@click.option("--at", metavar="TIME", help="As it was at this moment, like 2026-12-01T08:00:00Z, by the journal.")
def why_command(shell: Shell, job: str, *, brief: bool, at: str | None) -> None:
    """Explain why JOB waits, started or ended, or how a workflow of this name stands and why.

    Of a job that waits also: what it lacks and who has it, when it is expected to start, and the smallest changes of
    one word with which it would start now. Each of them was tried on a copy of what is so now.
    """
    if at is not None:
        told = asked(
            shell,
            lambda client: client.why_then(job, at, brief=brief),
            lambda: _read(shell, job, at, brief=brief),
        )
        _tell_past(shell, told)
        return
    try:
        client = shell.client()
    except ControllerError:
        if not _has_journal(shell):
            raise
        shell.note("no controller runs: this is what its journal says")
        _tell_past(shell, _read(shell, job, None, brief=brief))
        return
    try:
        told = client.why(job)
    except NotFoundError as error:
        _of_workflow(shell, client, job, error)
        return
    if told["state"] == "pending" and not brief:
        with suppress(ConflictError, NotFoundError):  # it may have started meanwhile
            told["outlook"] = client.outlook(f"id:{told['id']}")
    if shell.as_json:
        shell.document(told)
        return
    _count_anew(told)
    state = _NOW.get(told["inner_state"], told["state"])
    shell.line(
        f"job {told['id']} ({told['name']}) {state} since {shown.clock(told['since'])} ({shown.ago(told['since'])})"
    )
    for line in _since(told):
        shell.line(line)
    said = told["reasons"] or told["causes"][-1:]  # a success has no reason of its own: its attempt's end tells
    for reason in said:
        shell.line(f"  {reason['text']}")
    if promise := shown.expected(told.get("expected")):
        shell.line(f"  {promise}")
    for line in _outlook(told):
        shell.line(f"  {line}")
    _tell_rest(shell, told, said)


def _of_workflow(shell: Shell, client: Client, name: str, error: NotFoundError) -> None:
    """Tell of the workflow of a name, or of a step of one that has no job yet; else raise that there is no job."""
    flow, dot, step = name.rpartition(".")
    for ref, one in ((name, ""), (flow, step) if dot else (name, "")):
        with suppress(NotFoundError):
            row = client.flow(ref)
            if one and all(told["name"] != one for told in row["steps"]):
                break
            if shell.as_json:
                shell.document(row)
            else:
                tell_why(shell, row, one)
            return
    raise error


def _has_journal(shell: Shell) -> bool:
    """Return whether a controller has ever written a journal for a home."""
    from clearway.compose.past import past_of

    try:
        with past_of(shell.home) as past:
            return past.last() > 0
    except NotFoundError:
        return False


def _read(shell: Shell, job: str, at: str | None, *, brief: bool) -> dict[str, Any]:
    from clearway.api.past.questions import moment
    from clearway.api.past.then import why_then
    from clearway.compose.past import past_of

    with past_of(shell.home) as past:
        return why_then(past, job, moment("at", at), brief=brief)


def _tell_rest(shell: Shell, told: dict[str, Any], said: list[dict[str, Any]]) -> None:
    """Tell where it stands in the line, and what came before what was said."""
    if told.get("order"):
        shell.line(f"  {_order(told['order'])}")
    if told["inner_state"] in ("starting", "running"):
        shell.note(f"what it was weighed against: clearway explain --job id:{told['id']}")
    now = said[-1]["text"] if said else ""
    causes = [cause for cause in told["causes"] if not (cause is told["causes"][-1] and cause["text"] == now)]
    if causes:
        shell.line("what came before:")
        for cause in causes:
            shell.line(f"  {_cause(cause)}")


def _count_anew(told: dict[str, Any]) -> None:
    """Say what lacks with the counts of now: what was recorded has those of when it was."""
    now = told["outlook"]["now"] if "outlook" in told else None
    if now and told["reasons"] and told["reasons"][0]["code"] in COUNTED:
        told["reasons"][0]["text"] = now


def _since(told: dict[str, Any]) -> Iterator[str]:
    """Yield since when a job waits for what it waits for now, where it waited for something else before."""
    if told["state"] == "pending" and told["reasons_since"] != told["since"]:
        yield f"  for this since {shown.clock(told['reasons_since'])} ({shown.ago(told['reasons_since'])}):"


def _outlook(told: dict[str, Any]) -> Iterator[str]:
    if "outlook" in told:
        yield from outlook_lines(told["outlook"], [reason["text"] for reason in told["reasons"]])


def _order(order: dict[str, Any]) -> str:
    """Word what each order says of a job: as one sum, or one after the other."""
    parts = order["parts"]
    told = (" + " if order["summed"] else ", then ").join(f"{name} {value:g}" for name, value in parts.items())
    if not order["summed"]:
        return f"stands in the line by {told} (the smaller goes first)"
    return f"stands in the line at {sum(parts.values()):g} = {told} (the smaller goes first)"


def _tell_past(shell: Shell, told: dict[str, Any]) -> None:
    if shell.as_json:
        shell.document(told)
        return
    where = f" on {', '.join(told['nodes'])}" if told["nodes"] else ""
    since = f" since {shown.clock(told['since'])}" if told["since"] else ""
    shell.line(f"job {told['id']} ({told['name']}) at {told['at']}: {told['inner_state']}{where}{since}")
    if told["records"] == "gone":
        shell.note("its records are gone: only how it ended is still known")
    _count_anew(told)
    for reason in told["reasons"]:
        shell.line(f"  {reason['text']}")
    for line in _outlook(told):
        shell.line(f"  {line}")


def _cause(cause: dict[str, Any]) -> str:
    attempt = f"attempt {cause['attempt']} " if cause["attempt"] else ""
    return f"{shown.clock(cause['at'])}  {attempt}{_KIND[cause['kind']]}: {cause['text']}"
