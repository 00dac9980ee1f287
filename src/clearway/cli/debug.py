"""`clearway debug bundle` and `replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import shown
from clearway.cli.audit import say
from clearway.cli.faults import FAILED
from clearway.cli.past import asked, new_file
from clearway.cli.shell import Shell, command, group

if TYPE_CHECKING:
    from clearway.sdk.client import Client

_FILE = click.Path(dir_okay=False, path_type=Path)
_BUNDLE = click.Path(exists=True, dir_okay=False, path_type=Path)


@group("debug")
def debug_command() -> None:
    """Pack what happened for somebody who is to find out why, and decide it again elsewhere.

    For example: clearway debug bundle trouble.tar.gz
    """


@command("bundle")
@click.argument("file", type=_FILE, metavar="FILE", default="clearway-bundle.tar.gz")
def _bundle(shell: Shell, file: Path) -> None:
    """Write an archive of the journal, the settings, versions and the ends of the logs, without secrets.

    Left out are: of each job its environment's values, its command line, its input and result; tokens, passwords,
    and what stands behind the host in an address. Names of jobs, users, queues and nodes stay. The journal goes back to
    the last snapshot before a controller took over, so that its decisions can be taken again.
    """
    made = asked(shell, lambda client: _fetched(client, file), lambda: _made(shell, file))
    if shell.as_json:
        shell.document({"file": str(file), **made})
    else:
        what = f"records {made['first']} to {made['last']}, {made['redacted']} values left out"
        shell.line(f"wrote {file}: {shown.size(made['size'])}, {what}")


def _fetched(client: Client, file: Path) -> dict[str, Any]:
    with new_file(file) as opened:
        return client.bundle(opened)


def _made(shell: Shell, file: Path) -> dict[str, Any]:
    from clearway.compose.bundle import make_bundle

    return make_bundle(shell.home, file, None)._asdict()


@command("replay")
@click.argument("bundle", type=_BUNDLE, metavar="BUNDLE")
def _replay(shell: Shell, bundle: Path) -> int:
    """Decide again what the journal of a BUNDLE records, and compare bit for bit, as `clearway audit` does.

    Needs nothing of where it was made. Exits with 1 if a plan comes out otherwise.
    """
    from clearway import __version__
    from clearway.api.past.questions import compare
    from clearway.compose.bundle import bundle_of

    with bundle_of(bundle) as (about, again):
        found = {"made_by": about["clearway"], **compare(again, 0, None, None)}
    if shell.as_json:
        shell.document(found)
    else:
        if about["clearway"] != __version__:
            shell.note(f"it was made by version {about['clearway']}, this one is {__version__}")
        say(shell, found)
    return 0 if found["first_difference"] is None else FAILED


for _one in (_bundle, _replay):
    debug_command.add_command(_one)
