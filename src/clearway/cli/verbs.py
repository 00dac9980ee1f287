"""`clearway hold`, `release`, `requeue` and `set`: what people do with live jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clearway.cli.acts import each_job
from clearway.cli.choices import JOB, JOBS
from clearway.cli.job_options import number_or_text
from clearway.cli.shell import Shell, command, group

if TYPE_CHECKING:
    from clearway.sdk.client import Client


@command("hold")
@JOBS
def hold_command(shell: Shell, jobs: tuple[str, ...]) -> None:
    """Hold JOBs back: they start no attempt until they are released, and hold back nobody. What runs goes on."""
    each_job(shell, jobs, shell.client().hold, "is held; clearway release lets it go")


@command("release")
@JOBS
def release_command(shell: Shell, jobs: tuple[str, ...]) -> None:
    """Let JOBs go that are held."""
    each_job(shell, jobs, shell.client().release, "is released")


@command("requeue")
@click.option("--hold", is_flag=True, help="Also hold them, so that they wait until clearway release.")
@JOBS
def requeue_command(shell: Shell, jobs: tuple[str, ...], hold: bool) -> None:  # noqa: FBT001 - click calls it by name
    """Stop running JOBs and have them wait again, with their first submit time.

    Each is asked to stop as its checkpoint says. It counts neither as a failure nor as a loss.
    """
    client = shell.client()
    waits = "is held then; clearway release lets it go" if hold else "waits again"
    each_job(shell, jobs, lambda job: client.requeue(job, hold=hold), f"is told to stop, and {waits}")


@group("set")
def set_command() -> None:
    """Give a live job another priority, queue or time limit.

    For example: clearway set priority train 50
    """


def _set(shell: Shell, job: str, word: str, value: object) -> None:
    client: Client = shell.client()
    row = client.set(job, {word: value})
    if shell.as_json:
        shell.document(row)
    else:
        shell.line(f"job {row['id']} ({row['name']}): {word} is {value}")


@command("priority", context_settings={"ignore_unknown_options": True})
@JOB
@click.argument("priority", metavar="N")
def _priority(shell: Shell, job: str, priority: str) -> None:
    """Give JOB the priority N; larger runs sooner, and may be below 0."""
    _set(shell, job, "priority", number_or_text(priority))


@command("queue")
@JOB
@click.argument("queue", metavar="QUEUE")
def _queue(shell: Shell, job: str, queue: str) -> None:
    """Have JOB wait in another QUEUE. Only while it waits; the queue's defaults do not change its words."""
    _set(shell, job, "queue", queue)


@command("time-limit")
@JOB
@click.argument("limit", metavar="TIME")
def _time_limit(shell: Shell, job: str, limit: str) -> None:
    """Give JOB another time limit, such as 90m; none: no limit. It counts from the start of the attempt."""
    _set(shell, job, "time_limit", number_or_text(limit))


for _made in (_priority, _queue, _time_limit):
    set_command.add_command(_made)
