"""`clearway why`."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli import shown
from clearway.cli.choices import JOB
from clearway.cli.outlooks import outlook_lines
from clearway.cli.shell import Shell, command

_NOW = {"pending": "waits", "starting": "is being started", "stopping": "is being stopped", "suspended": "stands still"}
_KIND = {
    "started": "started",
    "stopping": "was told to stop",
    "attempt_ended": "ended",
    "requeued": "went back to wait",
}


@command("why")
@JOB
@click.option("--brief", is_flag=True, help="Only what was recorded: do not work out what would change it.")
def why_command(shell: Shell, job: str, *, brief: bool) -> None:
    """Explain why JOB waits, started or ended.

    Of a job that waits also: what it lacks and who has it, when it is expected to start, and the smallest changes of
    one word with which it would start now. Each of them was tried on a copy of what is so now.
    """
    client = shell.client()
    told = client.why(job)
    if told["state"] == "pending" and not brief:
        told["outlook"] = client.outlook(f"id:{told['id']}")
    if shell.as_json:
        shell.document(told)
        return
    state = _NOW.get(told["inner_state"], told["state"])
    shell.line(
        f"job {told['id']} ({told['name']}) {state} since {shown.clock(told['since'])} ({shown.ago(told['since'])})"
    )
    said = told["reasons"] or told["causes"][-1:]  # a success has no reason of its own: its attempt's end tells
    for reason in said:
        shell.line(f"  {reason['text']}")
    if promise := shown.expected(told.get("expected")):
        shell.line(f"  {promise}")
    for line in outlook_lines(told["outlook"]) if "outlook" in told else ():
        shell.line(f"  {line}")
    if told.get("order"):
        shell.line(f"  {_order(told['order'])}")
    now = said[-1]["text"] if said else ""
    causes = [cause for cause in told["causes"] if not (cause is told["causes"][-1] and cause["text"] == now)]
    if causes:
        shell.line("what came before:")
        for cause in causes:
            shell.line(f"  {_cause(cause)}")


def _order(order: dict[str, Any]) -> str:
    """Word what each order says of a job: as one sum, or one after the other."""
    parts = order["parts"]
    told = (" + " if order["summed"] else ", then ").join(f"{name} {value:g}" for name, value in parts.items())
    if not order["summed"]:
        return f"stands in the line by {told} (the smaller goes first)"
    return f"stands in the line at {sum(parts.values()):g} = {told} (the smaller goes first)"


def _cause(cause: dict[str, Any]) -> str:
    attempt = f"attempt {cause['attempt']} " if cause["attempt"] else ""
    return f"{shown.clock(cause['at'])}  {attempt}{_KIND[cause['kind']]}: {cause['text']}"
