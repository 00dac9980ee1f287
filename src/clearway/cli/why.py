"""`clearway why`."""

from __future__ import annotations

from typing import Any

from clearway.cli import shown
from clearway.cli.choices import JOB
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
def why_command(shell: Shell, job: str) -> None:
    """Explain why JOB waits, started or ended."""
    told = shell.client().why(job)
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
    now = said[-1]["text"] if said else ""
    causes = [cause for cause in told["causes"] if not (cause is told["causes"][-1] and cause["text"] == now)]
    if causes:
        shell.line("what came before:")
        for cause in causes:
            shell.line(f"  {_cause(cause)}")


def _cause(cause: dict[str, Any]) -> str:
    attempt = f"attempt {cause['attempt']} " if cause["attempt"] else ""
    return f"{shown.clock(cause['at'])}  {attempt}{_KIND[cause['kind']]}: {cause['text']}"
