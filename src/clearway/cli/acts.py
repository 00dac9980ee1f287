"""`clearway cancel`, `suspend`, `resume`, `drain` and `undrain`: one word to the controller for each name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.cli.choices import JOBS, NODES
from clearway.cli.shell import Shell, command

if TYPE_CHECKING:
    from collections.abc import Callable


def each_job(shell: Shell, jobs: tuple[str, ...], act: Callable[[str], dict[str, Any]], done: str) -> None:
    """Do something with each job, and tell of each what is so then."""
    rows = []
    for job in jobs:
        rows.append(act(job))
        if not shell.as_json:
            told = f"is {rows[-1]['state']}" if rows[-1]["ended"] else done
            shell.line(f"job {rows[-1]['id']} ({rows[-1]['name']}) {told}")
    if shell.as_json:
        shell.document({"jobs": rows})


def _each_node(shell: Shell, nodes: tuple[str, ...], *, drained: bool) -> None:
    client = shell.client()
    told = "is drained: nothing new is placed there" if drained else "is used again"
    rows = []
    for node in nodes:
        rows.append(client.drain(node, drained=drained))
        if not shell.as_json:
            shell.line(f"node {node} {told}")
    if shell.as_json:
        shell.document({"nodes": rows})


@command("cancel")
@JOBS
def cancel_command(shell: Shell, jobs: tuple[str, ...]) -> None:
    """Cancel JOBs: those that wait at once, those that run after they were asked to stop. One that is over stays so."""
    each_job(shell, jobs, shell.client().cancel, "is told to stop")


@command("suspend")
@JOBS
def suspend_command(shell: Shell, jobs: tuple[str, ...]) -> None:
    """Have running JOBs stand still. They keep what they hold."""
    each_job(shell, jobs, shell.client().suspend, "stands still; clearway resume has it go on")


@command("resume")
@JOBS
def resume_command(shell: Shell, jobs: tuple[str, ...]) -> None:
    """Have JOBs that stand still go on."""
    each_job(shell, jobs, shell.client().resume, "goes on")


@command("drain")
@NODES
def drain_command(shell: Shell, nodes: tuple[str, ...]) -> None:
    """Place nothing new on NODEs; what runs there goes on to its end."""
    _each_node(shell, nodes, drained=True)


@command("undrain")
@NODES
def undrain_command(shell: Shell, nodes: tuple[str, ...]) -> None:
    """Place jobs on NODEs again."""
    _each_node(shell, nodes, drained=False)
