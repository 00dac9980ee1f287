"""`clearway audit`."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli.past import asked, progress
from clearway.cli.shell import Shell, command


@command("audit")
@click.option("--from", "since", metavar="TIME", help="Compare cycles from this moment on, like 2026-12-01T08:00:00Z.")
@click.option("--to", "until", metavar="TIME", help="Compare cycles up to this moment.")
@click.option("--cycle", "number", type=click.IntRange(1), metavar="N", help="Compare this cycle only.")
def audit_command(shell: Shell, since: str | None, until: str | None, number: int | None) -> int:
    """Decide again what the journal records, and compare bit for bit: places, promises, stops and reasons.

    The controller is asked, and its journal read where none runs. Exits with 1 if a plan comes out otherwise, and
    names the first difference.
    """
    found = asked(shell, lambda client: client.audit(since, until, number), lambda: _read(shell, since, until, number))
    if shell.as_json:
        shell.document(found)
    else:
        say(shell, found)
    return 0 if found["first_difference"] is None else 1


def _read(shell: Shell, since: str | None, until: str | None, number: int | None) -> dict[str, Any]:
    from clearway.api.past.questions import audit
    from clearway.compose.past import past_of

    with past_of(shell.home) as past, progress(past.last()) as told:
        return audit(past, told, since, until, number)


def say(shell: Shell, found: dict[str, Any]) -> None:
    """Tell a person what `compare` found."""
    first = found["first_difference"]
    if found["unchecked"]:
        shell.note(f"{found['unchecked']} cycles were passed over: the records that they rest on are gone")
    if first is None:
        what = f"{found['cycles']} cycles with {found['records']} records were decided again"
        shell.line(f"{what}: all the same" if found["cycles"] else "no cycle is recorded there")
        return
    shell.line(f"cycle {first['cycle']} at {first['at']}, record {first['record']}: {first['text']}")
    shell.line(f"  recorded: {first['recorded']}")
    shell.line(f"  again:    {first['again']}")
