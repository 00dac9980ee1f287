"""`clearway status`."""

from __future__ import annotations

from typing import Any

from clearway.cli import shown
from clearway.cli.shell import Shell, command
from clearway.cli.table import pairs
from clearway.cli.told import counted_only
from clearway.config.home import home_dir


@command("status")
def status_command(shell: Shell) -> None:
    """Show the controller, and what it has in hand. Exits with 3 where none runs."""
    told = shell.client().status()
    if shell.as_json:
        shell.document(told)
        return
    gpus = told["gpus"]
    jobs = ", ".join(f"{n} {state}" for state, n in told["jobs"].items())
    pairs(
        [
            ("controller", _controller(told["controller"])),
            ("home", str(home_dir(shell.home))),
            ("disk", _disk(told["disk"])),
            ("policy", _order(told["policy"]["order"]) if told["policy"] else shown.NOTHING),
            ("engine", told["engine"]["name"]),
            ("nodes", str(told["nodes"])),
            ("GPUs", f"{shown.amount(gpus['free'])} of {gpus['total']} free"),
            ("jobs", jobs or "none; try: clearway run --wait -- echo hello"),
            ("calls", shown.calls(told["calls"]) or "none waits or runs"),
        ]
    )
    if said := _found(told["self_audit"]):
        shell.line(said)
    if said := counted_only(gpus["counted_only"]):
        shell.line(said)


def _disk(told: dict[str, int] | None) -> str:
    return shown.NOTHING if told is None else f"{_rough(told['free'])} of {_rough(told['total'])} free"


def _rough(count: int) -> str:
    """Return bytes in whole GiB or, below one, MiB."""
    unit = shown.GIB if count >= shown.GIB else shown.MIB
    return shown.size(count // unit * unit)


def _found(told: dict[str, Any]) -> str:
    """Say what the controller found wrong with itself, "" for nothing."""
    many = sum(told["found"].values())
    if not many:
        return ""
    what = "difference was" if many == 1 else "differences were"
    return f"{many} {what} found and repaired since it began, the last {shown.ago(told['last_at'])}: {told['last']}"


def _controller(told: dict[str, Any]) -> str:
    state = f"{told['state']}: {told['text']}" if told["text"] else told["state"]
    listens = f", listens on {told['listen']}" if told["listen"] else ""
    return f"{state}, process {told['pid']} since {shown.ago(told['since'])}, version {told['version']}{listens}"


def _order(order: list[str] | dict[str, int]) -> str:
    """Word orders that are compared in turn, or weighed against one another."""
    if isinstance(order, dict):
        return " + ".join(f"{weight} {name}" for name, weight in order.items())
    return ", ".join(order)
