"""`clearway test`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import faults, scenarios
from clearway.cli.shell import Shell, command
from clearway.cli.shown import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

CLEAR_LINE = "\r\033[K"


@command("test")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
def test_command(shell: Shell, paths: tuple[Path, ...]) -> int:
    """Run scenarios and judge what they expect, and what must always hold.

    Names each broken line. Exits with 1 if anything does not hold or a scenario cannot be run.
    """
    files = scenarios.files_of(paths)
    verdicts = []
    for number, file in enumerate(files):
        _progress(number, len(files), file)
        verdicts.append(scenarios.judged(file))
        if not shell.as_json:
            _tell(shell, verdicts[-1])
    _progress(len(files), len(files), None)
    if shell.as_json:
        shell.document(_document(verdicts))
    else:
        _conclude(shell, verdicts)
    return 0 if all(verdict.holds for verdict in verdicts) else faults.FAILED


def _progress(done: int, total: int, file: Path | None) -> None:
    """Show which file is judged now, where a person looks and there are several."""
    if total > 1 and sys.stderr.isatty():
        now = "" if file is None else f"{done + 1} of {total}: {plain(file.name)}"
        click.echo(CLEAR_LINE + now, nl=False, err=True)


def _tell(shell: Shell, verdict: scenarios.Verdict) -> None:
    if verdict.holds:
        return
    if sys.stderr.isatty():
        click.echo(CLEAR_LINE, nl=False, err=True)
    if verdict.waits_for:
        shell.line(f"{verdict.file}: not run: this version does not carry out {verdict.waits_for} yet")
    elif verdict.refused is not None:
        shell.line(f"{verdict.file}: cannot be run: {verdict.refused}")
    for line in verdict.broken:
        shell.line(f"{verdict.file}: {line}")


def _conclude(shell: Shell, verdicts: Sequence[scenarios.Verdict]) -> None:
    holding = sum(verdict.holds for verdict in verdicts)
    later = sum(verdict.waits_for != "" for verdict in verdicts)
    refused = sum(verdict.refused is not None for verdict in verdicts) - later
    broken = len(verdicts) - holding - later - refused
    parts = [f"{holding} hold" if holding != 1 else "1 holds"]
    parts += [f"{n} {what}" for n, what in ((broken, "broken"), (refused, "cannot be run"), (later, "not run")) if n]
    count = f"{len(verdicts)} scenario{'' if len(verdicts) == 1 else 's'}"
    shell.line(f"{count}: {', '.join(parts)} ({sum(v.took_s for v in verdicts):.1f} s)")


def _document(verdicts: Sequence[scenarios.Verdict]) -> dict[str, Any]:
    return {
        "scenarios": [
            {
                "file": str(v.file),
                "holds": v.holds,
                "broken": list(v.broken),
                "waits_for": v.waits_for or None,
                "refused": None if v.refused is None else faults.problem(v.refused),
                "took_s": round(v.took_s, 3),
            }
            for v in verdicts
        ],
        "holds": all(v.holds for v in verdicts),
    }
