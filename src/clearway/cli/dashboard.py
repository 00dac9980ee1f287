"""`clearway dashboard`."""

from __future__ import annotations

import html
import os
import sys
import webbrowser

import click

from clearway.cli.shell import Shell, command
from clearway.config.home import home_dir

PAGE = "dashboard.html"


@command("dashboard")
@click.option("--open/--no-open", "opens", default=None, help="Open a browser here, or only print the link.")
def dashboard_command(shell: Shell, *, opens: bool | None) -> None:
    """Open the page of the controller, by a link that is good once and for two minutes.

    The browser is led there by a file that only you can read: a link on a command line others of this machine could
    see.
    """
    link = shell.client().link()
    if shell.as_json:
        shell.document(link)
        return
    shell.line(link["url"])
    if opens or (opens is None and sys.stdout.isatty() and os.environ.get("DISPLAY")):
        path = home_dir(shell.home) / PAGE
        _write_private(path, _leading_to(link["url"]))
        webbrowser.open(path.as_uri())


def _leading_to(url: str) -> str:
    target = html.escape(url, quote=True)
    return f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={target}">\n'


def _write_private(path: os.PathLike[str], text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(file, "w") as opened:
        opened.write(text)
