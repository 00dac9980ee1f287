"""`clearway advise`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from clearway.cli.job_files import maps_of_files
from clearway.cli.job_options import at_this_place
from clearway.cli.outlooks import outlook_lines
from clearway.cli.shell import Shell, command

NEVER = ("never", "limited")


@command("advise")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--fleet",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="SCENARIO",
    help="Ask about the fleet, queues, limits, policy and the jobs at second 0 of this scenario, not the controller.",
)
def advise_command(shell: Shell, files: tuple[str, ...], fleet: Path | None) -> int:
    """Say what would become of the jobs of YAML FILEs if they were submitted now; - reads stdin.

    Each job starts at once, waits (for what, until when), or never starts; with the smallest changes of one word with
    which it would start at once, and what runs of the like took where it asks for more. Nothing is submitted. Exits
    with 1 if a job would never start as things are.
    """
    jobs = [at_this_place(job) for job in maps_of_files(files, "jobs")]
    rows = shell.client().advise(jobs) if fleet is None else _of_scenario(fleet, jobs)
    if shell.as_json:
        shell.document({"jobs": rows})
    else:
        for row in rows:
            _tell(shell, row)
    return 1 if any(row["verdict"] in NEVER for row in rows) else 0


def _of_scenario(path: Path, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from clearway.observe.outlook_rows import outlook_row
    from clearway.observe.timeline import Face
    from clearway.whatif.stage import advise_in

    return [{"name": name, **outlook_row(found, Face())} for name, found in advise_in(path, jobs)]


def _tell(shell: Shell, row: dict[str, Any]) -> None:
    said = {"starts": "starts at once", "waits": "would wait", "never": "never fits", "limited": "is over a limit"}
    where = f" on {', '.join(row['expected']['nodes'])}" if row["verdict"] == "starts" else ""
    shell.line(f"{row['name']}: {said[row['verdict']]}{where}")
    starts = row["verdict"] == "starts"
    for line in (need["text"] for need in row["needs"]) if starts else outlook_lines(row):
        shell.line(f"  {line}")
