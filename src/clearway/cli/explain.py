"""`clearway explain`."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli.past import asked, progress
from clearway.cli.shell import Shell, command


@command("explain")
@click.option("--cycle", "number", type=click.IntRange(1), metavar="N", help="The cycle with this number.")
@click.option("--job", "ref", metavar="JOB", help="The cycle in which this job started last.")
def explain_command(shell: Shell, number: int | None, ref: str | None) -> None:
    """Show one cycle whole: who was considered in which order, what started where, and why the others wait.

    The cycle is decided again, by what the journal recorded. For each start it tells the place
    that came second, with the parts of both scores.
    """
    if (number is None) == (ref is None):
        raise click.UsageError("either --cycle N or --job JOB")
    document = asked(
        shell,
        lambda client: client.cycle_of(ref or "") if number is None else client.cycle(number),
        lambda: _read(shell, number, ref),
    )
    if shell.as_json:
        shell.document(document)
    else:
        _tell(shell, document)


def _read(shell: Shell, number: int | None, ref: str | None) -> dict[str, Any]:
    from clearway.api.past.questions import cycle
    from clearway.compose.past import past_of

    with past_of(shell.home) as past, progress(past.last()) as told:
        return cycle(past, told, number, ref or "")


def _tell(shell: Shell, found: dict[str, Any]) -> None:
    what = f"policy {found['policy']}, seed {found['seed']}, read {found['read']} records"
    same = "" if found["same"] else "; it comes out otherwise when it is decided again: clearway audit"
    shell.line(f"cycle {found['cycle']} at {found['at']} ({what}){same}")
    shell.line(f"considered in this order ({found['considered']}):")
    for turn in found["turns"]:
        shell.line(f"  {turn['name']} (queue {turn['queue']}) {turn['text']}")
    turned = {turn["text"].partition("does not start: ")[2] for turn in found["turns"]}
    for row in found["decided"]:
        if row["kind"] == "waits" and row["text"] in turned and len(row["jobs"]) == 1:
            continue  # it stands beside the turn already
        if row["kind"] == "waits":
            many = len(row["jobs"])
            named = ", ".join(row["jobs"][:3]) + (f" and {many - 3} more" if many > 3 else "")  # noqa: PLR2004
            shell.line(f"{named} {'waits' if many == 1 else 'wait'}: {row['text']}")
        elif row["kind"] != "started":
            shell.line(f"{row['job']} {row['text']}")
