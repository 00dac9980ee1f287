"""`clearway up` and `clearway down`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clearway.cli.job_options import number_or_text
from clearway.cli.shell import Shell, command
from clearway.cli.told import counted_only
from clearway.config.home import home_dir
from clearway.model.errors import ConflictError

if TYPE_CHECKING:
    from pathlib import Path


@command("up")
@click.option("-d", "--detach", is_flag=True, help="Come back as soon as it answers.")
@click.option("--devices", metavar="N", help="Declare N devices that are only counted, for a machine without GPUs.")
@click.option(
    "--fleet", type=click.Path(), metavar="FILE", help="Declare the nodes of FILE; their devices are only counted."
)
@click.option("--listen", metavar="ADDRESS:PORT", help="HTTP on loopback too, with the token of a file in its home.")
def up_command(shell: Shell, *, detach: bool, devices: str | None, fleet: str | None, listen: str | None) -> None:
    """Start a controller on this machine. Jobs go on when it stops, and are found again by the next one."""
    from clearway.compose.assemble import policy_of
    from clearway.compose.engines import check_engine
    from clearway.compose.launch import start
    from clearway.config.settings import load_settings

    options = _options(devices, fleet, listen)
    home = home_dir(shell.home)
    settings = load_settings(home, options)
    check_engine(settings)
    policy_of(settings)  # what is refused is said here, and not at the end of a log
    if not detach:
        shell.note(f"a controller starts for {home}; Ctrl-C stops it, jobs go on")
    try:
        running = start(home, options, detach=detach)
    except ConflictError as error:
        raise ConflictError(f"{error}; clearway down stops it; then up with the new options") from None
    if shell.as_json:
        shell.document(
            {"home": str(home), "controller": {k: v for k, v in running._asdict().items() if k != "started"}}
        )
    else:
        shell.line(f"a controller runs for {home} as process {running.pid}")
        if said := counted_only(Shell(home).client().status()["gpus"]["counted_only"]):
            shell.line(said)


def _options(devices: str | None, fleet: str | None, listen: str | None) -> dict[str, object]:
    """Return settings as the controller reads them: it runs in another directory, so paths are whole."""
    from pathlib import Path

    return {
        "devices": None if devices is None else number_or_text(devices),
        "fleet": None if fleet is None else str(Path(fleet).absolute()),
        "listen": listen,
    }


@command("down")
def down_command(shell: Shell) -> None:
    """Stop the controller. Running jobs go on; those that wait start when a controller runs again."""
    from clearway.compose.launch import stop

    home: Path = home_dir(shell.home)
    stopped = stop(home)
    if shell.as_json:
        shell.document({"home": str(home), "stopped": stopped})
    else:
        shell.line("the controller is stopped; running jobs go on" if stopped else f"no controller runs for {home}")
