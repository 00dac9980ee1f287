"""`clearway db upgrade`, `backup`, `restore`, `check` and `compact`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli.faults import FAILED
from clearway.cli.past import asked, new_file
from clearway.cli.shell import Shell, command, group

if TYPE_CHECKING:
    from clearway.sdk.client import Client

_OLD = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW = click.Path(dir_okay=False, path_type=Path)


@group("db")
def db_command() -> None:
    """Look after the journal: the database in which a controller keeps what happened.

    For example, every night: clearway db backup journal-$(date +%F).db
    """


@command("upgrade")
def _upgrade(shell: Shell) -> None:
    """Bring the tables up to the version of this program. The controller must be stopped."""
    from clearway.compose.database import upgrade

    place, found, now = upgrade(shell.home)
    if shell.as_json:
        shell.document({"place": place, "found": found, "version": now})
    elif found == now:
        shell.line(f"{place} has version {now} already")
    else:
        shell.line(f"{place} was brought from version {found} to {now}")


@command("backup")
@click.argument("file", type=_NEW, metavar="FILE")
def _backup(shell: Shell, file: Path) -> None:
    """Copy the journal into the new FILE, also while the controller runs.

    It is an SQLite database, whatever the journal is in, and holds all that was there when it began.
    """
    last = asked(shell, lambda client: _fetched(client, file), lambda: _copied(shell, file))
    _told(shell, f"wrote {last} records to {file}", {"file": str(file), "last": last})


@command("restore")
@click.argument("file", type=_OLD, metavar="FILE")
def _restore(shell: Shell, file: Path) -> None:
    """Put what a backup FILE holds into a home (or a database) that has no journal yet.

    The controller must be stopped. What was started after the backup was made is not known any more: it is stopped
    when the next controller finds it running.
    """
    from clearway.compose.database import restore

    last = restore(shell.home, file)
    _told(shell, f"put {last} records back", {"file": str(file), "last": last})


@command("check")
def _check(shell: Shell) -> int:
    """Read the whole journal, also while the controller runs, and see whether it adds up.

    No record may be missing or damaged, the books must add up, and every snapshot must say what the records before it
    say. Exits with 1 where something is wrong.
    """
    found = asked(shell, lambda client: client.check_journal(), lambda: _checked(shell))
    if shell.as_json:
        shell.document(found)
    else:
        counts = f"{found['records']} records, {found['snapshots']} snapshots, {found['live_jobs']} live jobs"
        shell.line(f"{found['place']}: {counts}")
        for fault in found["faults"]:
            shell.line(f"  {fault}")
        shell.line("something is wrong" if found["faults"] else "all adds up")
    return FAILED if found["faults"] else 0


def _checked(shell: Shell) -> dict[str, Any]:
    from clearway.compose.database import check

    return check(shell.home)._asdict()


def _fetched(client: Client, file: Path) -> int:
    with new_file(file) as opened:
        return int(client.backup(opened)["last"])


def _copied(shell: Shell, file: Path) -> int:
    from clearway.compose.database import backup

    return backup(shell.home, file)


@command("compact")
def _compact(shell: Shell) -> None:
    """Drop what is over longer than the setting `retention` says, and give back the space.

    The controller must be stopped; while it runs it drops the same by itself, and uses the space again.
    """
    from clearway.compose.database import compact

    jobs, records = compact(shell.home)
    _told(shell, f"dropped {records} records of {jobs} jobs", {"jobs": jobs, "records": records})


def _told(shell: Shell, text: str, document: dict[str, object]) -> None:
    if shell.as_json:
        shell.document(document)
    else:
        shell.line(text)


for _one in (_upgrade, _backup, _restore, _check, _compact):
    db_command.add_command(_one)
