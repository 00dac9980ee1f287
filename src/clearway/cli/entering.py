"""What `flow run` and `search run` share: the files are entered one by one, and with --wait followed to their end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from clearway.cli import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.cli.shell import Shell

Row = dict[str, Any]

LOOK_EVERY_S = 0.2
OVER = frozenset({"succeeded", "failed", "cancelled"})


def enter_files(
    shell: Shell, files: tuple[str, ...], words: tuple[str, str], enter: Callable[[Row], Row],
    again: Callable[[Row], Row], told: Callable[[Row], str], *, wait: bool,
) -> int:  # fmt: skip
    """Enter what YAML files hold, say how each stands, and return the number to exit with.

    `words` are what they are called in a file and in JSON.
    `enter` takes the words of one and returns its row; `again` returns the row as it is now; `told` is its sentence.
    """
    from clearway.cli.job_files import maps_of_files

    in_file, in_json = words
    rows = [enter(one) for one in maps_of_files(files, in_file)]
    if wait:
        rows = [_until_over(row, again) for row in rows]
    if shell.as_json:
        shell.document({in_json: rows})
    else:
        for row in rows:
            shell.line(told(row))
    return faults.FAILED if wait and any(row["state"] != "succeeded" for row in rows) else 0


def _until_over(row: Row, again: Callable[[Row], Row]) -> Row:
    while row["state"] not in OVER:
        time.sleep(LOOK_EVERY_S)
        row = again(row)
    return row
