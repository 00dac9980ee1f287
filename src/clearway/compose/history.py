"""The journal of a home, read while a controller may be writing it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from clearway.compose.stores import open_reader
from clearway.config.home import home_dir
from clearway.config.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from clearway.model.events import Record


def records(home: Path | None = None, options: Mapping[str, object] | None = None) -> Iterator[Record]:
    """Yield the records of a home's journal in order, those that are there when it begins.

    `options` are settings over those of the home's file.

    Of jobs that were over before the retention time there are none any more. Errors: NotFoundError where there is no
    journal, StoreError where it cannot be read.
    """
    with closing(open_reader(load_settings(home_dir(home), options))) as journal:
        last = journal.last()
        for entry in journal.read():
            if entry.number > last:
                return
            yield entry.record
