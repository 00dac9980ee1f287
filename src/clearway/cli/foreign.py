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

    class Dumper(yaml.SafeDumper):
        """Writes scripts as they are, and a text that could be read as a number (`09`) as a text."""

    def text(dumper: yaml.SafeDumper, said: str) -> yaml.ScalarNode:
        style = "|" if "\n" in said else "'" if said[:1].isdigit() else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", said, style)

    Dumper.add_representer(str, text)
    click.echo(yaml.dump({"jobs": [one.words for one in found]}, Dumper=Dumper, sort_keys=False), nl=False)
