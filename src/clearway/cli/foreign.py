"""`clearway import`: job files of other systems as ours."""

from __future__ import annotations

from pathlib import Path

import click

from clearway.cli.shell import Shell, command


@command("import")
@click.argument("files", nargs=-1, required=True, metavar="SCRIPT...")
def import_command(shell: Shell, *, files: tuple[str, ...]) -> None:
    """Write batch scripts of Slurm as a job file on stdout; what has no counterpart is named on stderr.

    A script is a job as it stands: its #SBATCH lines become words of the job, the rest is what it runs. The partition
    becomes the queue, of several nodes each is a task. Look at what was made before you `clearway submit` it.
    """
    import yaml

    from clearway.config.yaml_file import read_text
    from clearway.interop.sbatch import read_script

    found = [read_script(read_text(Path(file), "SCRIPT"), Path(file).stem) for file in files]
    if shell.as_json:
        shell.document({"files": [{"words": one.words, "missing": one.missing} for one in found]})
        return
    for one in found:
        for what in one.missing:
            shell.note(f"{one.words['name']}: no counterpart: {what}")
    click.echo(yaml.safe_dump({"jobs": [one.words for one in found]}, sort_keys=False), nl=False)
