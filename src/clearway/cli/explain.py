"""`clearway explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clearway.cli.past import job_of, progress
from clearway.cli.shell import Shell, command
from clearway.model.errors import NotFoundError

if TYPE_CHECKING:
    from clearway.compose.past import PastOf
    from clearway.loop.world import World
    from clearway.whatif.again import Cycle


@command("explain")
@click.option("--cycle", "number", type=click.IntRange(1), metavar="N", help="The cycle with this number.")
@click.option("--job", "ref", metavar="JOB", help="The cycle in which this job started last.")
def explain_command(shell: Shell, number: int | None, ref: str | None) -> None:
    """Show one cycle whole: who was considered in which order, what started where, and why the others wait.

    The cycle is decided again from the journal, whether a controller runs or not. For each start it tells the place
    that came second, with the parts of both scores.
    """
    from clearway.compose.past import past_of

    if (number is None) == (ref is None):
        raise click.UsageError("either --cycle N or --job JOB")
    with past_of(shell.home) as past, progress(past.last()) as told:
        if number is None:
            number = past.cycle_of(job_of(past.world_at(None), ref or ""))
        document = _document(past, number, told)
    if shell.as_json:
        shell.document(document)
    else:
        _tell(shell, document)


def _document(past: PastOf, number: int, told: Any) -> dict[str, Any]:  # noqa: ANN401 - takes a number
    again = past.again(told)
    for cycle in again.cycles(traced=number):
        if cycle.planned.cycle == number:
            return _shown(again.world, cycle)
    raise NotFoundError(f"there is no cycle {number} in the journal that can be decided again")


def _shown(world: World, cycle: Cycle) -> dict[str, Any]:
    from clearway.api.moments import FACE, iso
    from clearway.model.events import ClassWaits
    from clearway.observe.cycle_rows import decided_rows, turn_row
    from clearway.observe.words import sentence

    def job_name(job: int) -> str:
        entry = world.jobs.get(job)  # type: ignore[call-overload]
        return str(job) if entry is None else entry.spec.name

    line = world.state.view.line
    members = {cls.id: [w.spec.name for w in cls.jobs.values() if not w.started] for cls in line.classes.values()}
    plan, reasons = cycle.planned, {cls.id: cls.reasons for cls in line.classes.values()}
    reasons |= {record.cls: record.reasons for record in cycle.records if isinstance(record, ClassWaits)}
    waits = {cls: "; ".join(sentence(reason, FACE.moment) for reason in told) for cls, told in reasons.items()}
    return {
        "cycle": plan.cycle,
        "at": iso(plan.at_us),
        "read": plan.revision,
        "policy": plan.policy,
        "seed": plan.seed,
        "same": cycle.difference is None,
        "considered": cycle.considered,
        "turns": [turn_row(turn, waits.get(turn.cls, "")) for turn in cycle.turns],
        "decided": decided_rows(cycle.records, job_name, world.node_name, members, FACE),  # type: ignore[arg-type]
    }


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
