"""`clearway token`: who may come in from elsewhere, as what, until when."""

from __future__ import annotations

from typing import Any

import click

from clearway.cli import shown
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw

ROLES = ("viewer", "submitter", "operator", "admin")
_COLUMNS = (
    Column("TOKEN"),
    Column("USER", cut=True),
    Column("ROLE"),
    Column("TENANT", cut=True),
    Column("SCOPES", cut=True),
    Column("MADE", right=True),
    Column("UNTIL", right=True),
)


@click.group("token")
def token_command() -> None:
    """Tokens for people and programs that do not sit at the controller's socket.

    For example: clearway token create ada --role submitter --tenant vision --expires 90d
    """


@command("create")
@click.argument("user")
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True, help="What it may do.")
@click.option("--tenant", metavar="NAME", help="A submitter changes this tenant's work only; else the user's own.")
@click.option("--expires", metavar="DURATION", help="How long it is good, like 90d; for ever where it is not said.")
@click.option("--scope", "scopes", multiple=True, metavar="NOUN", help="Only this noun of the API, like metrics.")
def _create(
    shell: Shell, *, user: str, role: str, tenant: str | None, expires: str | None, scopes: tuple[str, ...]
) -> None:
    """Make a token for USER, and print it: it is told this once, and only its hash is kept."""
    said = {"user": user, "role": role, "tenant": tenant, "expires": expires, "scopes": list(scopes) or None}
    row = shell.client().make_token({word: value for word, value in said.items() if value is not None})
    if shell.as_json:
        shell.document(row)
    else:
        shell.note(f"token {row['id']} for {row['user']}, {row['role']}, {_until(row)}; it is shown this once")
        shell.line(row["token"])


def _until(row: dict[str, Any]) -> str:
    return f"good until {shown.clock(row['expires'])}" if row["expires"] else "good for ever"


@command("list")
def _list(shell: Shell) -> None:
    """List tokens; their secrets nobody knows but those who have them."""
    rows = shell.client().tokens()
    if shell.as_json:
        shell.document({"tokens": rows})
    elif not rows:
        shell.line("no tokens; clearway token create USER --role submitter makes one")
    else:
        draw(_COLUMNS, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    until = shown.clock(row["expires"]) if row["expires"] else ""
    scopes = ", ".join(row["scopes"])
    return [row["id"], row["user"], row["role"], row["tenant"] or "", scopes, shown.ago(row["created"]), until]


@command("revoke")
@click.argument("token")
def _revoke(shell: Shell, token: str) -> None:
    """Have TOKEN (its number in the list, not its secret) open nothing any more."""
    row = shell.client().revoke_token(token)
    if shell.as_json:
        shell.document(row)
    else:
        shell.line(f"token {row['id']} of {row['user']} opens nothing any more")


for _one in (_create, _list, _revoke):
    token_command.add_command(_one)
