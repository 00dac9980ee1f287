"""`clearway top`."""

from __future__ import annotations

import os
import select
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from clearway.cli.shell import Shell, command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clearway.sdk.client import Client

MOST_ROWS = 200
LEAVE = frozenset("qQ\x03\x04")
ONCE_WIDTH, ONCE_HEIGHT = 80, 200


@command("top")
@click.option("--once", is_flag=True, help="Show one screen, and end.")
@click.option(
    "--interval", type=click.FloatRange(0.2, 3600), default=2.0, show_default=True, metavar="SECONDS",
    help="How often it looks anew.",
)  # fmt: skip
def top_command(shell: Shell, once: bool, interval: float) -> None:  # noqa: FBT001 - click calls it by name
    """Show nodes, queues, what runs, what waits and why, and calls by pool. q leaves.

    A device is drawn as · where it is idle, █ where it is held, ▄ where a part of it is, x where it is ill.
    With --json, or where there is no terminal, one screen is told and it ends.
    """
    client = shell.client()
    if shell.as_json:
        shell.document(told(client))
    elif once or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _one_screen(told(client))
    else:
        with _keys() as key:
            _live(lambda: told(client), key, interval)


def told(client: Client) -> dict[str, Any]:
    """Return what the screen shows."""
    status = client.status()
    return {
        "controller": status["controller"],
        "counts": status["jobs"],
        "pools": status.get("pools", []),
        "gpus": status["gpus"],
        "nodes": client.nodes(),
        "queues": client.queues(),
        "running": client.jobs(state="running", limit=MOST_ROWS),
        "waiting": client.jobs(state="pending", limit=MOST_ROWS)[::-1],
    }


def _one_screen(found: dict[str, Any]) -> None:
    from rich.console import Console

    from clearway.cli.top_page import page

    console = Console(file=sys.stdout, highlight=False, no_color="NO_COLOR" in os.environ or None)
    width, height = (console.width, console.height) if sys.stdout.isatty() else (ONCE_WIDTH, ONCE_HEIGHT)
    console = Console(file=sys.stdout, highlight=False, width=width, no_color="NO_COLOR" in os.environ or None)
    with console.capture() as drawn:
        console.print(page(found, width, height))
    for line in drawn.get().rstrip().splitlines():
        click.echo(line.rstrip())


def _live(look: Callable[[], dict[str, Any]], key: Callable[[float], str], interval_s: float) -> None:
    from rich.console import Console
    from rich.live import Live

    from clearway.cli.top_page import page

    console = Console(highlight=False, no_color="NO_COLOR" in os.environ or None)
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(page(look(), console.width, console.height), refresh=True)
            if key(interval_s) in LEAVE:
                return


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Have keys come as they are pressed; yields what waits for one, "" where none came in that time."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def key(wait_s: float) -> str:
        ready, _, _ = select.select([terminal], [], [], wait_s)
        if not ready:
            return ""
        return os.read(terminal, 1).decode("latin-1") or "q"  # nothing to read: the terminal has gone

    try:
        tty.setcbreak(terminal)
        yield key
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
