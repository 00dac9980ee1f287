"""The live clock: wall time of its first start, from then on counted by a clock that nobody sets."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from clearway.model.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.ports.journal import Journal

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
NANOS = 1000  # in a microsecond


class Anchor(msgspec.Struct, frozen=True):
    """One moment on both clocks: at `boot_us` after the boot `boot_id` it was `now_us`."""

    boot_id: str
    boot_us: int
    now_us: int

    def text(self) -> str:
        """Return it as a text to be kept with the journal."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def read(cls, text: str) -> Anchor:
        """Read `text` again; StoreError where it is none."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise StoreError(f"the clock's anchor in the journal cannot be understood: {error}") from error


class SystemClock:
    """A `ports.Clock` for this machine. Setting the wall clock does not move it; it counts on through a suspend.

    Made with what an earlier one left: in the same boot it continues exactly, whatever the wall clock did
    meanwhile; after another boot it begins at the wall clock, but never before the journal's last moment.
    """

    def __init__(
        self,
        anchor: Anchor | None = None,
        last_us: int = 0,
        *,
        boot_id: Callable[[], str] = lambda: BOOT_ID.read_text(encoding="ascii").strip(),
        boot_us: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME) // NANOS,
        wall_us: Callable[[], int] = lambda: time.time_ns() // NANOS,
    ) -> None:
        """`anchor` and `last_us` (moment of the newest record) come from the journal."""
        self._boot_us = boot_us
        boot, since_boot_us = boot_id(), boot_us()
        same_boot = anchor is not None and anchor.boot_id == boot and anchor.boot_us <= since_boot_us
        begin_us = anchor.now_us + since_boot_us - anchor.boot_us if anchor and same_boot else wall_us()
        self.anchor = Anchor(boot, since_boot_us, max(begin_us, last_us + 1))

    def now_us(self) -> int:
        """Return microseconds since 1970, as the wall clock said at the first start, counted on."""
        return self.anchor.now_us + self._boot_us() - self.anchor.boot_us


def last_moment_us(journal: Journal) -> int:
    """Return when the newest record of a journal was made, 0 if it has none."""
    return max((entry.record.at_us for entry in journal.read(journal.last() - 1)), default=0) if journal.last() else 0
