"""`clearway wait`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import faults, shown
from clearway.cli.choices import JOBS
from clearway.cli.job_options import number_or_text
from clearway.cli.shell import Shell, command
from clearway.model import values

if TYPE_CHECKING:
    from clearway.sdk.client import Client

POLL_S = 30.0  # how long one question waits for its answer; the answer comes at once when the job is over


@command("wait")
@JOBS
@click.option("--timeout", metavar="DURATION", help="Stop waiting after so long (30, 10m, ..): exit code 124.")
def wait_command(shell: Shell, jobs: tuple[str, ...], timeout: str | None) -> int:
    """Wait until all JOBs are over. Exits with 0 if all succeeded, else with 1."""
    limit_s = values.duration("timeout", number_or_text(timeout)) / values.SECOND_US if timeout else None
    until = None if limit_s is None else time.monotonic() + limit_s
    client = shell.client()
    rows = [_until_over(client, job, until) for job in jobs]
    if shell.as_json:
        shell.document({"jobs": rows})
    else:
        for row in rows:
            shell.line(_told(row))
    if any(row["ended"] is None for row in rows):
        return faults.TIMED_OUT
    return 0 if all(row["state"] == "succeeded" for row in rows) else faults.FAILED


def _until_over(client: Client, job: str, until: float | None) -> dict[str, Any]:
    while True:
        left = POLL_S if until is None else min(POLL_S, max(0.0, until - time.monotonic()))
        row = client.wait(job, left)
        if row["ended"] is not None or (until is not None and time.monotonic() >= until):
            return row


def _told(row: dict[str, Any]) -> str:
    reason = row["reason"]["text"] if row["reason"] and row["state"] != "succeeded" else ""
    code = f", {shown.ending(row['exit_code'])}" if row["exit_code"] else ""
    return f"job {row['id']} ({row['name']}) {row['state']}{code}{': ' if reason else ''}{reason}"
