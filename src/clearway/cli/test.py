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
INDENT = " " * 4


@command("test")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
def test_command(shell: Shell, paths: tuple[Path, ...]) -> int:
    """Run scenarios and judge what they expect, and what must always hold.

    Names each broken line, and below it what its jobs waited for or how they ended. Exits with 1 if anything does not
    hold or is not carried out yet, else with 2 if a file is refused.
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
    return _code(verdicts)


def _code(verdicts: Sequence[scenarios.Verdict]) -> int:
    wrong = [verdict for verdict in verdicts if not verdict.holds]
    if any(verdict.refused is None or verdict.waits_for for verdict in wrong):
        return faults.FAILED
    return faults.BAD_INPUT if wrong else 0


def _progress(done: int, total: int, file: Path | None) -> None:
    """Show which file is judged now, where a person looks and there are several."""
    if total > 1 and sys.stderr.isatty():
        now = "" if file is None else f"{done + 1} of {total}: {plain(file.name)}"
        click.echo(CLEAR_LINE + now, nl=False, err=True)


def _tell(shell: Shell, verdict: scenarios.Verdict) -> None:
    if verdict.holds and verdict.expects:
        return
    if sys.stderr.isatty():
        click.echo(CLEAR_LINE, nl=False, err=True)
    if verdict.waits_for:
        shell.line(f"{verdict.file}: not run: this version does not carry out {verdict.waits_for} yet")
    elif verdict.refused is not None:
        shell.line(f"{verdict.file}: cannot be run: {verdict.refused}")
    elif verdict.holds:
        shell.line(f"{verdict.file}: holds (only the rules that always hold; it has no `expect`)")
    for breach in verdict.broken:
        shell.line(f"{verdict.file}: {breach.text}")
        for line in breach.why:
            shell.line(f"{INDENT}{line}")


def _conclude(shell: Shell, verdicts: Sequence[scenarios.Verdict]) -> None:
    holding = sum(verdict.holds for verdict in verdicts)
    later = sum(verdict.waits_for != "" for verdict in verdicts)
    refused = sum(verdict.refused is not None for verdict in verdicts) - later
    broken = len(verdicts) - holding - later - refused
    parts = [f"{holding} hold" if holding != 1 else "1 holds"]
    parts += [f"{n} {what}" for n, what in ((broken, "broken"), (refused, "cannot be run"), (later, "not run")) if n]
    silent = sum(verdict.holds and not verdict.expects for verdict in verdicts)
    if silent:
        parts[0] += f" ({silent} of them without an `expect`)" if holding > 1 else " (without an `expect`)"
    count = f"{len(verdicts)} scenario{'' if len(verdicts) == 1 else 's'}"
    shell.line(f"{count}: {', '.join(parts)} ({sum(v.took_s for v in verdicts):.1f} s)")


def _document(verdicts: Sequence[scenarios.Verdict]) -> dict[str, Any]:
    return {
        "scenarios": [
            {
                "file": str(v.file),
                "holds": v.holds,
                "expects": v.expects,
                "broken": [breach.text for breach in v.broken],
                "why": [list(breach.why) for breach in v.broken],
                "waits_for": v.waits_for or None,
                "refused": None if v.refused is None else faults.problem(v.refused),
                "took_s": round(v.took_s, 3),
            }
            for v in verdicts
        ],
        "holds": all(v.holds for v in verdicts),
    }
