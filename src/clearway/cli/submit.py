"""`clearway submit`."""

from __future__ import annotations

import click

from clearway.cli.job_files import maps_of_files
from clearway.cli.job_options import at_this_place
from clearway.cli.shell import Shell, command
from clearway.cli.told import tell_submitted


@command("submit")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def submit_command(shell: Shell, files: tuple[str, ...]) -> None:
    """Submit the jobs of YAML FILEs, all or none; - reads stdin.

    A file holds one job, a list of jobs, or {jobs: [..]}; several documents count together. A job runs in the
    directory in which this is called, unless its `workdir` says otherwise.
    """
    jobs = [at_this_place(job) for job in maps_of_files(files, "jobs")]
    answers = shell.client().submit(jobs)
    if shell.as_json:
        shell.document({"jobs": answers})
    else:
        tell_submitted(shell, answers)
