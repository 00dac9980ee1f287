"""What `flow run` and `search run` share: the files are entered one by one, and with --wait followed to their end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.cli import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.cli.shell import Shell

Row = dict[str, Any]

LOOK_EVERY_S = 0.2
SAY_EVERY_S = 3.0
OVER = frozenset({"succeeded", "failed", "cancelled"})


class Sayings(NamedTuple):
    """How one is told: in a sentence, and how far it is, a line that is said on stderr when it changes."""

    told: Callable[[Row], str]
    progress: Callable[[Row], str]


def enter_files(
    shell: Shell, files: tuple[str, ...], words: tuple[str, str], enter: Callable[[Row], Row],
    again: Callable[[Row], Row], sayings: Sayings, *, wait: bool,
) -> int:  # fmt: skip
    """Enter what YAML files hold, say how each stands, and return the number to exit with.

    `words` are what they are called in a file and in JSON.
    `enter` takes the words of one and returns its row; `again` returns the row as it is now.
    """
    from clearway.cli.job_files import maps_of_files

    in_file, in_json = words
    rows = [enter(one) for one in maps_of_files(files, in_file)]
    if wait:
        say = (lambda _: None) if shell.as_json else shell.note
        rows = [_until_over(row, again, sayings.progress, say) for row in rows]
    if shell.as_json:
        shell.document({in_json: rows})
    else:
        for row in rows:
            shell.line(sayings.told(row))
    return faults.FAILED if wait and any(row["state"] != "succeeded" for row in rows) else 0


def _until_over(
    row: Row, again: Callable[[Row], Row], progress: Callable[[Row], str], say: Callable[[str], None]
) -> Row:
    said, next_s = "", time.monotonic() + SAY_EVERY_S
    while row["state"] not in OVER:
        time.sleep(LOOK_EVERY_S)
        row = again(row)
        if time.monotonic() >= next_s and (line := progress(row)) != said:
            say(line)
            said, next_s = line, time.monotonic() + SAY_EVERY_S
    return row
