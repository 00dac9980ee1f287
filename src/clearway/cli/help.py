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
@click.argument("subject", required=False, metavar="[COMMAND | exit-codes | jobs]")
def help_command(shell: Shell, subject: str | None) -> None:
    """Explain a command; exit-codes: the numbers that commands exit with; jobs: how a job is named."""
    context = click.get_current_context()
    subjects = {"exit-codes": [(str(n), text) for n, text in EXIT_CODES], "jobs": list(JOB_REFERENCES)}
    if subject in subjects:
        _table(shell, subject, subjects[subject])
        return
    root = context.find_root()
    group = root.command
    if subject is None or not isinstance(group, click.Group):
        click.echo(group.get_help(root))
        return
    found = group.get_command(root, subject)
    if found is None:
        raise click.UsageError(f"no command or subject {subject!r}", root)
    click.echo(found.get_help(click.Context(found, parent=root, info_name=subject)))


def _table(shell: Shell, subject: str, rows: list[tuple[str, str]]) -> None:
    if shell.as_json:
        shell.document({subject: [{"name": name, "meaning": meaning} for name, meaning in rows]})
        return
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl(rows)
    click.echo(formatter.getvalue().rstrip("\n"))
