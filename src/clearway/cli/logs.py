"""`clearway logs`."""

from __future__ import annotations

import codecs
import sys
from typing import TYPE_CHECKING

import click

from clearway.cli.choices import JOB
from clearway.cli.shell import Shell, command
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@command("logs")
@JOB
@click.option("-f", "--follow", is_flag=True, help="Go on as more is written, until the job is over.")
@click.option("--task", type=click.IntRange(0), help="Which task, counted from 0; task 0 otherwise.")
@click.option("--attempt", type=click.IntRange(1), help="Which attempt; the latest otherwise.")
@click.option("--stderr", "errors", is_flag=True, help="What it wrote to stderr instead of stdout.")
@click.option(
    "--raw", is_flag=True, help="The very bytes; otherwise what is no UTF-8 is shown as \N{REPLACEMENT CHARACTER}."
)
def logs_command(
    shell: Shell, *, job: str, follow: bool, task: int | None, attempt: int | None, errors: bool, raw: bool
) -> None:
    """Show what JOB wrote."""
    if shell.as_json and (follow or raw):
        raise InputError("--json", "--follow" if follow else "--raw", "one JSON document cannot hold that")
    stream = "stderr" if errors else "stdout"
    client = shell.client()
    if task is None:
        task = 0
        if not shell.as_json:
            _tell_others(shell, client.wait(job, 0)["tasks"])
    chunks = client.logs(job, task=task, attempt=attempt, stream=stream, follow=follow)
    if shell.as_json:
        text = "".join(decoded(chunks))
        shell.document({"job": job, "task": task, "attempt": attempt, "stream": stream, "text": text})
        return
    sink, silent = sys.stdout.buffer, True
    for chunk in chunks if raw else (text.encode() for text in decoded(chunks)):
        silent = silent and not chunk
        sink.write(chunk)
        sink.flush()
    if silent and not errors and any(client.logs(job, task=task, attempt=attempt, stream="stderr")):
        shell.note("nothing on stdout; --stderr shows what it wrote there")


def _tell_others(shell: Shell, tasks: int) -> None:
    if tasks > 1:
        shell.note(f"this is task 0 of {tasks}; --task N shows another one, up to {tasks - 1}")


def decoded(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield text; a character that two chunks share is kept whole, and what is no UTF-8 is marked."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for chunk in chunks:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)
