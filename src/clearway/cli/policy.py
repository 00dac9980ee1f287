"""`clearway policy`: what decides, what is tried beside it, and how the one becomes the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import shown
from clearway.cli.past import asked
from clearway.cli.shell import Shell, command, group
from clearway.cli.table import Column, draw

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHANGES = (
    Column("WHEN", right=True), Column("POLICY", cut=True), Column("WHAT"), Column("BY", cut=True),
    Column("WHY", wraps=True),
)  # fmt: skip

_COMPARED = (
    Column("JOBS OF"), Column("NAME", cut=True), Column("JOBS", right=True), Column("WAIT", right=True),
    Column("WOULD", right=True), Column("SLOWDOWN", right=True), Column("WOULD", right=True),
    Column("SAME", right=True), Column("EARLIER", right=True), Column("LATER", right=True),
)  # fmt: skip
_NOTHING = {
    "none": "no policy is tried: clearway policy shadow POLICY",
    "beginning": "it has just begun; ask again in a moment",
}


@group("policy")
def policy_command() -> None:
    """Show the policy in force, try another one beside it, promote it, and take it back.

    For example: clearway policy shadow sjf; a day later clearway policy compare; then clearway policy promote
    """


@command("show")
def _show(shell: Shell) -> None:
    """Show the policy in force since when and why, the one that is tried, the guard, and the last changes.

    The controller is asked, and its journal read where none runs.
    """
    tell(shell, asked(shell, lambda client: client.policy(), lambda: _read(shell)))


def _read(shell: Shell) -> dict[str, Any]:
    from clearway.api.policy_rows import policy_row
    from clearway.compose.past import past_of

    with past_of(shell.home) as past:
        world = past.world_at(None)
        return policy_row(world.policy, world.state.policies)


@command("shadow")
@click.argument("policy", metavar="[POLICY]", required=False)
@click.option("--off", is_flag=True, help="Try none any more; a guard ends with it.")
def _shadow(shell: Shell, *, policy: str | None, off: bool) -> None:
    """Have POLICY decide beside the one in force, on the same events and without acting.

    It is named as for replay: a bundle, orders joined by +, a map of words, or a YAML file. What it would have done is
    told by clearway policy compare. Example: clearway policy shadow sjf
    """
    if off == (policy is not None):
        raise click.UsageError("name a POLICY, or --off")
    client = shell.client()
    if policy is None:
        tell(shell, client.end_shadow())
        return
    from clearway.cli.replay_policies import FILE_ENDINGS, file_words

    path = Path(policy) if policy.endswith(FILE_ENDINGS) else None
    tell(shell, client.shadow(policy) if path is None else client.shadow(file_words(path), path.stem))


@command("compare")
def _compare(shell: Shell) -> None:
    """Tell how long the same jobs wait under the policy in force and would wait under the one that is tried.

    Overall, by tenant and by queue: mean waits, bounded slowdowns, and how many would start earlier or later.
    """
    row = shell.client().compare_policies()
    if shell.as_json:
        shell.document(row)
        return
    found = row["comparison"]
    if row["state"] in _NOTHING or found is None:
        shell.line(
            _NOTHING.get(row["state"], "nothing has come of it yet") + (f": {row['reason']}" if row["reason"] else "")
        )
        return
    shell.line(headline(row))
    if row["state"] == "failed":
        shell.line(f"it is not followed any more: {row['reason']}")
    if found["late"]:
        shell.line("records from the time before that are gone: it began later than it was set")
    rows = [("all", "", found["whole"]), *(("tenant", one["name"] or "(none)", one) for one in found["tenants"])]
    rows += [("queue", one["name"], one) for one in found["queues"]]
    draw(_COMPARED, [_compared(*one) for one in rows if one[2]["jobs"]])


def headline(row: Mapping[str, Any]) -> str:
    """Say in a sentence what the candidate would have gained."""
    found, whole = row["comparison"], row["comparison"]["whole"]
    told = f"since {shown.clock(found['since'])} {row['candidate']} beside {row['in_force']}: {whole['jobs']} jobs"
    if not whole["jobs"]:
        return told
    less = whole["wait_s"] - whole["would_s"]
    how = "less" if less >= 0 else "longer"
    return f"{told}, which would have waited {shown.span(abs(less))} {how} in the mean, as far as it is known by now"


def _compared(kind: str, name: str, one: Mapping[str, Any]) -> list[str]:
    times = [shown.span(one[word]) for word in ("wait_s", "would_s")]
    slow = ["" if one[word] is None else f"{one[word]:.2f}" for word in ("slowdown", "would_slowdown")]
    return [kind, name, str(one["jobs"]), *times, *slow, *(str(one[word]) for word in ("same", "earlier", "later"))]


@command("promote")
@click.option("--bound", type=int, metavar="PERCENT", help="Take it back where a tenant waits so much longer [20].")
@click.option("--least", metavar="TIME", help="And so much longer at least, in the mean [60s].")
@click.option("--jobs", type=int, metavar="N", help="Found of so many of its jobs at least [20].")
@click.option("--for", "time", metavar="TIME", help="The guard looks so long [7d].")
@click.option("--yes", is_flag=True, help="Do not ask.")
def _promote(
    shell: Shell, *, bound: int | None, least: str | None, jobs: int | None, time: str | None, yes: bool
) -> None:
    """Put the policy that is tried in force.

    The one before it decides beside it from then on. Where the jobs of a tenant wait longer than they would have under
    it, by more than the bound, the controller puts it in force again by itself, and says so.
    """
    client = shell.client()
    if not yes and not shell.as_json and (candidate := client.policy()["candidate"]) is not None:
        click.confirm(shown.plain(f"Put {candidate['name']} in force?"), abort=True, err=True)
    said = {"bound": bound, "least": least, "jobs": jobs, "for": time}
    tell(shell, client.promote({word: value for word, value in said.items() if value is not None}))


@command("rollback")
def _rollback(shell: Shell) -> None:
    """Put the policy before the last promotion in force again."""
    tell(shell, shell.client().rollback())


def tell(shell: Shell, row: dict[str, Any]) -> None:
    """Tell how it stands."""
    if shell.as_json:
        shell.document(row)
        return
    shell.line(in_force(row))
    if (candidate := row["candidate"]) is not None:
        shell.line(f"beside it {candidate['name']} decides since {shown.clock(candidate['since'])}, and does not act")
    if (guard := row["guard"]) is not None:
        shell.line(guard_told(guard, row["before"]))
    elif row["before"] is not None:
        shell.line(f"clearway policy rollback puts {row['before']} in force again")
    if row["changes"]:
        shell.line("")
        draw(_CHANGES, [_cells(change) for change in row["changes"]])


def in_force(row: Mapping[str, Any]) -> str:
    """Say which policy is in force, and why."""
    why = {"settings": "by the settings", "promoted": f"promoted by {row['by']}", "rolled back": "by a rollback"}
    told = f"{row['called'] or 'own words'} is in force, {why[row['how']]}"
    if row["since"] is not None:
        told += f", since {shown.clock(row['since'])}"
    if row["how"] != "settings":
        told += f"; the settings say {row['settings']}, which holds again when other words stand there"
    return told


def guard_told(guard: Mapping[str, Any], before: str) -> str:
    """Say what a guard bears."""
    return (
        f"until {shown.clock(guard['until'])} a guard puts {before} in force again where a tenant waits "
        f"{guard['bound']} % and {shown.span(guard['least_s'])} longer than "
        f"under it, by the mean of at least {guard['jobs']} jobs"
    ) + (f"; it sees nothing now: {guard['blind']}" if guard.get("blind") else "")


def _cells(change: Mapping[str, Any]) -> list[str]:
    who = change["by"] or ("the guard" if change["worse"] is not None else "")
    return [shown.clock(change["at"]), change["name"], change["what"], who, worse_told(change["worse"])]


def worse_told(worse: Mapping[str, Any] | None) -> str:
    """Say who waited longer, and by how much."""
    if worse is None:
        return ""
    whose = f"tenant {worse['tenant']}" if worse["tenant"] else "jobs without a tenant"
    return f"{whose}: {worse['jobs']} jobs waited {shown.span(worse['wait_s'])}, not {shown.span(worse['would_s'])}"


for _made in (_show, _shadow, _compare, _promote, _rollback):
    policy_command.add_command(_made)
