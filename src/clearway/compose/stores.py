"""Which store a controller's journal is in."""

from __future__ import annotations

import logging
import secrets
import shutil
import time
from typing import TYPE_CHECKING

from clearway.calls.tables import prepare
from clearway.control import Upkeep
from clearway.engines.local.paths import checkpoint_path, log_path, work_path
from clearway.model.errors import ConflictError
from clearway.model.events import TaskRef
from clearway.store import SqliteJournal
from clearway.store.beside import SqliteBeside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clearway.calls.tables import Tables
    from clearway.config.settings import Settings
    from clearway.model.ids import JobId
    from clearway.store.postgres import Watch
    from clearway.store.sql import SqlJournal

LOG = logging.getLogger("clearway.store")
JOURNAL, CALLS, SQLITE = "journal.db", "calls.db", "sqlite"
MARK, WORD_BYTES = "mark", 16
LOOK_S = 0.5
"""So often a standby looks whether its leader is still there."""


def open_journal(settings: Settings, *, upgrades: bool = False, watch: Watch | None = None) -> SqlJournal:
    """Open the journal that settings name, to write. Raises ConflictError, InputError, StoreError.

    `upgrades`: also bring the tables of a server up to this version; those of a file always are. `watch`: what was
    seen before of whoever leads.
    """
    if settings.store == SQLITE:
        return SqliteJournal(settings.home / JOURNAL, synchronous=settings.synchronous)
    from clearway.store.postgres import PostgresJournal

    return PostgresJournal(settings.store, upgrades=upgrades, watch=watch)


def lead(settings: Settings) -> SqlJournal:
    """Open the journal to write; on a server that another controller leads, stand by until it does no more."""
    told, watch = "", None
    if settings.store != SQLITE:
        from clearway.store.postgres import Watch

        watch = Watch()
    while True:
        try:
            return open_journal(settings, watch=watch)
        except ConflictError as error:
            if settings.store == SQLITE:
                raise
            if str(error) != told:
                told = str(error)
                LOG.info("standing by: %s", told)
        time.sleep(LOOK_S)


def word_of(journal: SqlJournal, name: str) -> str:
    """Return the word that a journal keeps under a name: made once, and no other journal has the same.

    Two homes may have the same path, on two machines; yet they share no tasks and no traces.
    """
    known = journal.recall(name)
    if known is None:
        known = secrets.token_hex(WORD_BYTES)
        journal.remember(name, known)
    return known


def open_reader(settings: Settings, *, any_version: bool = False) -> SqlJournal:
    """Open the journal that settings name, to read it while a controller may write.

    `any_version`: also one whose tables are of an older version, to ask for that alone. Raises NotFoundError and
    StoreError.
    """
    if settings.store == SQLITE:
        return SqliteJournal(settings.home / JOURNAL, writes=False, any_version=any_version)
    from clearway.store.postgres import PostgresJournal

    return PostgresJournal(settings.store, writes=False, any_version=any_version)


def open_calls(settings: Settings, journal: SqlJournal) -> Tables:
    """Open the tables of calls beside the journal: a file of their own, or tables in the journal's database."""
    if settings.store != SQLITE:
        prepare(journal)
        return journal
    tables = SqliteBeside(settings.home / CALLS, synchronous=settings.synchronous)
    prepare(tables)
    return tables


def engine_home(settings: Settings) -> Path:
    """Return where the engine of this machine keeps its things."""
    return settings.engine_home or settings.home


def upkeep_of(settings: Settings, journal: SqlJournal) -> Upkeep:
    """Return what keeps a journal short, as settings say; what jobs printed goes with their records."""

    def gone(jobs: Sequence[JobId]) -> None:
        remove_output(engine_home(settings), jobs)

    return Upkeep(journal, every=settings.snapshot_every, retention_us=settings.retention_us, on_gone=gone)


def remove_output(home: Path, jobs: Sequence[JobId]) -> None:
    """Remove what these jobs printed, their checkpoints, and the folders in which they ran code of their own."""
    for job in jobs:
        task = TaskRef(job, 1, 0, 0)
        logs, work = log_path(home, task, "stdout").parent, work_path(home, task).parent
        for folder in (logs, checkpoint_path(home, task), work):
            try:
                shutil.rmtree(folder)
            except FileNotFoundError:
                continue
            except OSError as error:
                LOG.warning("the folder %s of job %d cannot be removed: %s", folder, job, error)
