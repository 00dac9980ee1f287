"""Which store a controller's journal is in."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

from clearway.control import Upkeep
from clearway.engines.local.paths import log_path
from clearway.model.events import TaskRef
from clearway.store import SqliteJournal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clearway.config.settings import Settings
    from clearway.model.ids import JobId
    from clearway.store.sql import SqlJournal

LOG = logging.getLogger("clearway.store")
JOURNAL = "journal.db"


def open_journal(settings: Settings) -> SqlJournal:
    """Open the journal that settings name, to write. Raises ConflictError, StoreError."""
    return SqliteJournal(settings.home / JOURNAL, synchronous=settings.synchronous)


def open_reader(settings: Settings, *, any_version: bool = False) -> SqlJournal:
    """Open the journal that settings name, to read it while a controller may write.

    `any_version`: also one whose tables are of an older version, to ask for that alone. Raises NotFoundError and
    StoreError.
    """
    return SqliteJournal(settings.home / JOURNAL, writes=False, any_version=any_version)


def upkeep_of(settings: Settings, journal: SqlJournal) -> Upkeep:
    """Return what keeps a journal short, as settings say; what jobs printed goes with their records."""

    def gone(jobs: Sequence[JobId]) -> None:
        remove_output(settings.home, jobs)

    return Upkeep(journal, every=settings.snapshot_every, retention_us=settings.retention_us, on_gone=gone)


def remove_output(home: Path, jobs: Sequence[JobId]) -> None:
    """Remove what these jobs printed."""
    for job in jobs:
        folder = log_path(home, TaskRef(job, 1, 0, 0), "stdout").parent
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            LOG.warning("what job %d printed cannot be removed: %s", job, error)
