"""`clearway help`."""

from __future__ import annotations

import click

from clearway.cli.faults import EXIT_CODES
from clearway.cli.shell import Shell, command

JOB_REFERENCES = (
    ("7", "the job with this number"),
    ("train", "the newest job with this name"),
    ("id:7, name:7", "exactly the number, or exactly the name"),
)


@command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND | exit-codes | jobs]")
def help_command(shell: Shell, words: tuple[str, ...]) -> None:
    """Explain a command; exit-codes: the numbers that commands exit with; jobs: how a job is named."""
    context = click.get_current_context()
    subjects = {"exit-codes": [(str(n), text) for n, text in EXIT_CODES], "jobs": list(JOB_REFERENCES)}
    if len(words) == 1 and words[0] in subjects:
        _table(shell, words[0], subjects[words[0]])
        return
    here = context.find_root()
    for word in words:
        group = here.command
        found = group.get_command(here, word) if isinstance(group, click.Group) else None
        if found is None:
            raise click.UsageError(f"no command or subject {' '.join(words)!r}", context.find_root())
        here = click.Context(found, parent=here, info_name=word)
    click.echo(here.get_help())


def _table(shell: Shell, subject: str, rows: list[tuple[str, str]]) -> None:
    if shell.as_json:
        shell.document({subject: [{"name": name, "meaning": meaning} for name, meaning in rows]})
        return
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl(rows)
    click.echo(formatter.getvalue().rstrip("\n"))
