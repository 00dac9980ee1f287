"""`clearway eta`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import shown
from clearway.cli.job_files import maps_of_files
from clearway.cli.job_options import at_this_place
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw
from clearway.model.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.sdk.client import Client

COLUMNS = (Column("JOB"), Column("STATE"), Column("STARTS"), Column("8 OF 10 FROM"), Column("UNTIL"), Column("NODES"))
NEVER = ("never", "limited")


@command("eta")
@click.argument("targets", nargs=-1, required=True, metavar="JOB|FILE...")
def eta_command(shell: Shell, targets: tuple[str, ...]) -> int:
    """Say when waiting JOBs will start, or the jobs of YAML FILEs if they were submitted now; - reads stdin.

    The controller's state is run forward many times with run times drawn from their forecasts, and with jobs that come
    as they came before: STARTS is the median, and 8 of 10 runs ahead lie between the two moments behind it. Nothing is
    submitted. Exits with 1 if a job would never start as things are.
    """
    client = shell.client()
    rows = [row for target in targets for row in _rows(client, target)]
    if shell.as_json:
        shell.document({"jobs": rows})
    else:
        draw(COLUMNS, (_cells(row) for row in rows))
        for row in rows:
            if row.get("verdict") == "waits" and row["eta"] is None and row["expected"] is None:
                shell.note(f"{shown.plain(row['name'])}: {row['text']}")
    return 1 if any(row.get("verdict") in NEVER for row in rows) else 0


def _rows(client: Client, target: str) -> Iterator[dict[str, Any]]:
    if target == "-" or Path(target).is_file():
        jobs = [at_this_place(job) for job in maps_of_files((target,), "jobs")]
        yield from ({"state": "not submitted", **row} for row in client.advise(jobs))
        return
    job = client.job(target)
    row = {"id": job["id"], "name": job["name"], "state": job["state"], "started": job["started"]}
    if job["state"] == "pending":
        try:
            row |= client.outlook(f"id:{job['id']}")
        except ConflictError:  # it has started since
            row["state"] = client.job(f"id:{job['id']}")["state"]
    yield row


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    name, state = shown.plain(row["name"]), row["state"]
    verdict = row.get("verdict")
    if verdict is None:
        return name, state, shown.clock(row["started"]) if row["started"] else shown.NOTHING, *[shown.NOTHING] * 3
    nodes = ", ".join(map(shown.plain, (row["expected"] or {}).get("nodes", ()))) or shown.NOTHING
    if verdict == "starts":
        return name, state, "at once", shown.NOTHING, shown.NOTHING, nodes
    if verdict in NEVER:
        return name, state, "never", shown.NOTHING, shown.NOTHING, shown.NOTHING
    if row["eta"] is None:
        start = shown.clock(row["expected"]["start"]) if row["expected"] else "unknown"
        return name, state, start, shown.NOTHING, shown.NOTHING, nodes
    eta = row["eta"]
    moments = [shown.clock(eta[key]) if eta[key] else "later" for key in ("median", "low", "high")]
    return name, state, *moments, nodes
