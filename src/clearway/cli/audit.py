"""`clearway audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clearway.cli.past import moment, progress
from clearway.cli.shell import Shell, command
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from clearway.model.events import Record
    from clearway.whatif.again import Again, Cycle


@command("audit")
@click.option("--from", "since", metavar="TIME", help="Compare cycles from this moment on, like 2026-12-01T08:00:00Z.")
@click.option("--to", "until", metavar="TIME", help="Compare cycles up to this moment.")
@click.option("--cycle", "number", type=click.IntRange(1), metavar="N", help="Compare this cycle only.")
def audit_command(shell: Shell, since: str | None, until: str | None, number: int | None) -> int:
    """Decide again what the journal records, and compare bit for bit: places, promises, stops and reasons.

    Reads the journal, whether a controller runs or not. Exits with 1 if a plan comes out otherwise, and names the first
    difference.
    """
    from clearway.compose.past import past_of

    since_us, until_us = moment("from", since), moment("to", until)
    with past_of(shell.home) as past, progress(past.last()) as told:
        again = past.again(told)
        found = compare(again, since_us or 0, until_us, number)
    if number is not None and not found["cycles"]:
        raise NotFoundError(f"there is no cycle {number} in the journal that can be decided again")
    if shell.as_json:
        shell.document(found)
    else:
        say(shell, found)
    return 0 if found["first_difference"] is None else 1


def compare(again: Again, since_us: int, until_us: int | None, number: int | None) -> dict[str, Any]:
    """Return how many cycles were decided again, and the first that came out otherwise."""
    cycles = records = 0
    first: Cycle | None = None
    for cycle in again.cycles(since_us=since_us, until_us=until_us):
        if number is not None and cycle.planned.cycle != number:
            if cycle.planned.cycle > number:
                break
            continue
        cycles, records = cycles + 1, records + len(cycle.records)
        if cycle.difference is not None:
            first = cycle
            break
    return {
        "cycles": cycles,
        "records": records,
        "unchecked": again.unchecked,
        "first_difference": None if first is None else _difference(first),
    }


def _difference(cycle: Cycle) -> dict[str, Any]:
    from clearway.api.moments import iso

    found = cycle.difference
    return {
        "cycle": cycle.planned.cycle,
        "at": iso(cycle.planned.at_us),
        "record": None if found is None else found.number,
        "recorded": None if found is None else _plain(found.recorded),
        "again": None if found is None else _plain(found.again),
        "text": "" if found is None else found.what or "the plan is another one",
    }


def _plain(record: Record | None) -> Any:  # noqa: ANN401 - JSON
    import msgspec

    return msgspec.to_builtins(record)


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
