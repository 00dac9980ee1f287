"""`clearway secret set`, `list` and `remove`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from clearway.cli.shell import Shell, command, group

if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = click.argument("name", metavar="NAME")


@group("secret")
def secret_command() -> None:
    """Keep passwords and keys for jobs that name them: clearway run --secrets TOKEN -- COMMAND.

    A job finds each in a variable of that name. A value is never shown, and stands in no journal, log or list.
    """


def _whose(function: Callable[..., None]) -> Callable[..., None]:
    user = click.option("--user", metavar="NAME", help="Whose it is; yours otherwise.")
    tenant = click.option("--tenant", metavar="NAME", help="Instead: for all users of this tenant.")
    return user(tenant(function))


@command("set")
@_NAME
@_whose
@click.option("--file", "source", type=click.File("rb"), metavar="FILE", help="Read it from here; stdin otherwise.")
def _set(shell: Shell, *, name: str, user: str | None, tenant: str | None, source: BinaryIO | None) -> None:
    """Keep the secret NAME, in place of an earlier one. Its value is read from stdin, never from the command line.

    One line break at its end is left out. For example: clearway secret set TOKEN < token.txt
    """
    value = _asked(name) if source is None and sys.stdin.isatty() else (source or sys.stdin.buffer).read()
    row = shell.client().set_secret(name, value.removesuffix(b"\n"), user=user, tenant=tenant)
    _told(shell, row, "is set")


def _asked(name: str) -> bytes:
    return str(click.prompt(name, hide_input=True, err=True)).encode()


@command("list")
@_whose
def _list(shell: Shell, *, user: str | None, tenant: str | None) -> None:
    """List the names of secrets."""
    rows = shell.client().secrets(user=user, tenant=tenant)
    if shell.as_json:
        shell.document({"secrets": rows})
    elif not rows:
        shell.line("no secrets; set one with: clearway secret set NAME")
    else:
        for row in rows:
            shell.line(row["name"])


@command("remove")
@_NAME
@_whose
def _remove(shell: Shell, *, name: str, user: str | None, tenant: str | None) -> None:
    """Forget the secret NAME. What runs keeps what it was given."""
    _told(shell, shell.client().remove_secret(name, user=user, tenant=tenant), "is removed")


def _told(shell: Shell, row: dict[str, str], what: str) -> None:
    if shell.as_json:
        shell.document(row)
    else:
        whose = f"tenant {row['tenant']}" if "tenant" in row else f"user {row['user']}"
        shell.line(f"secret {row['name']} of {whose} {what}")


for _made in (_set, _list, _remove):
    secret_command.add_command(_made)
