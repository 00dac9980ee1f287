"""`clearway call list`, `show`, `why`, `logs` and `cancel`."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli import shown
from clearway.cli.shell import Shell, command, group
from clearway.cli.table import Column, draw, state

_CALLS = (Column("CALL", right=True), Column("NAME", cut=True), Column("KIND"), Column("STATE"),
          Column("OVER", right=True), Column("FAILED", right=True), Column("JOB", right=True))  # fmt: skip


def _number(_context: click.Context, param: click.Parameter, said: str) -> int:
    if said.isascii() and said.isdecimal() and len(said) < MOST_DIGITS and int(said) > 0:
        return int(said)
    raise click.BadParameter(
        f"{said!r} is refused: the number of a call; clearway call list -a shows them", param=param
    )


MOST_DIGITS = 19
NUMBER = click.argument("number", metavar="CALL", callback=_number)


@group("call")
def call_command() -> None:
    """Look at calls of tasks (functions in Python), and end them. Their workers are jobs, listed by clearway ps.

    For example: clearway call list
    """


@command("list")
@click.option("-a", "--all", "everything", is_flag=True, help="Also those that are over.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=1000, help="So many at most [1000].")
def _list(shell: Shell, everything: bool, limit: int) -> None:  # noqa: FBT001 - click calls it by name
    """List calls, newest first; a map, chain or group is one row."""
    rows = shell.client().calls(everything=everything, limit=limit)
    if shell.as_json:
        shell.document({"calls": rows})
        return
    if not rows:
        shell.line(
            "no calls" if everything else "no call waits or runs; clearway call list -a shows those that are over"
        )
        return
    draw(_CALLS, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    over = f"{row['over']} of {row['parts']}" if row["kind"] != "call" else shown.NOTHING
    job = shown.NOTHING if row["job"] is None else str(row["job"])
    failed = str(row["failed"]) if row["kind"] != "call" else shown.NOTHING
    return [str(row["id"]), row["name"], row["kind"], state(row["state"]), over, failed, job]


@command("show")
@NUMBER
def _show(shell: Shell, number: int) -> None:
    """Show the call, chain or group CALL."""
    row = shell.client().call(number)
    if shell.as_json:
        shell.document(row)
        return
    for name, value in row.items():
        shell.line(f"{name:10} {shown.NOTHING if value is None else value}")


@command("why")
@NUMBER
def _why(shell: Shell, number: int) -> None:
    """Explain why the call CALL waits, runs or ended."""
    told = shell.client().why_call(number)
    if shell.as_json:
        shell.document(told)
        return
    shell.line(f"call {number} is {told['state']}: {told['text']}")
    if told["expected_end"]:
        shell.line(f"  expected to be over at {told['expected_end']}")
    if told["waits_for_job"]:
        shell.line(f"  more by: clearway why id:{told['waits_for_job']}")


@command("logs")
@click.option("--stderr", is_flag=True, help="What it wrote to stderr.")
@NUMBER
def _logs(shell: Shell, stderr: bool, number: int) -> None:  # noqa: FBT001 - click calls it by name
    """Show what the call CALL wrote in its last attempt that has ended."""
    stream = "stderr" if stderr else "stdout"
    content = shell.client().call_logs(number, stream)
    if shell.as_json:
        shell.document({"call": number, "stream": stream, "text": content.decode("utf-8", "backslashreplace")})
        return
    click.echo(content, nl=False)


@command("cancel")
@NUMBER
def _cancel(shell: Shell, number: int) -> None:
    """End the call CALL; a chain or group with all that is part of it."""
    client = shell.client()
    client.cancel_call(number)
    row = client.call(number)
    if shell.as_json:
        shell.document(row)
    else:
        shell.line(f"call {number} is {row['state']}")


for _one in (_list, _show, _why, _logs, _cancel):
    call_command.add_command(_one)
