"""`clearway cancel`, `suspend`, `resume`, `drain` and `undrain`: one word to the controller for each name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clearway.cli.choices import complete_job, complete_node
from clearway.cli.shell import Shell, command

if TYPE_CHECKING:
    from collections.abc import Callable

_JOB = click.argument("jobs", nargs=-1, required=True, metavar="JOB...", shell_complete=complete_job)
_NODE = click.argument("nodes", nargs=-1, required=True, metavar="NODE...", shell_complete=complete_node)


def _each(shell: Shell, key: str, names: tuple[str, ...], act: Callable[[str], Any], done: str) -> None:
    answers = [act(name) for name in names]
    if shell.as_json:
        shell.document({key: answers})
    else:
        for name in names:
            shell.line(f"{key.removesuffix('s')} {name} {done}")


@command("cancel")
@_JOB
def cancel_command(shell: Shell, jobs: tuple[str, ...]) -> None:
    """Cancel JOBs: those that wait at once, those that run after they were asked to stop. One that is over stays so."""
    _each(shell, "jobs", jobs, shell.client().cancel, "is cancelled, or will be when its processes are gone")


@command("suspend")
@_JOB
def suspend_command(shell: Shell, jobs: tuple[str, ...]) -> None:
    """Have running JOBs stand still. They keep what they hold."""
    _each(shell, "jobs", jobs, shell.client().suspend, "stands still; clearway resume has it go on")


@command("resume")
@_JOB
def resume_command(shell: Shell, jobs: tuple[str, ...]) -> None:
    """Have JOBs that stand still go on."""
    _each(shell, "jobs", jobs, shell.client().resume, "goes on")


@command("drain")
@_NODE
def drain_command(shell: Shell, nodes: tuple[str, ...]) -> None:
    """Place nothing new on NODEs; what runs there goes on to its end."""
    client = shell.client()
    _each(
        shell, "nodes", nodes, lambda name: client.drain(name, drained=True), "is drained: nothing new is placed there"
    )


@command("undrain")
@_NODE
def undrain_command(shell: Shell, nodes: tuple[str, ...]) -> None:
    """Place jobs on NODEs again."""
    client = shell.client()
    _each(shell, "nodes", nodes, lambda name: client.drain(name, drained=False), "is used again")
