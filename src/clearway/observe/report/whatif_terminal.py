"""The answer of a what-if in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from clearway.observe.report.grid import Grid, stacked
from clearway.observe.report.numbers import short
from clearway.observe.report.terminal import print_comparison
from clearway.observe.report.whatif_words import casts, caveats, change_of, summary

if TYPE_CHECKING:
    from rich.console import Console

    from clearway.observe.report.whatif_words import Cast
    from clearway.sim.results.groups import Group
    from clearway.sim.results.verdict import Answer

HEADS = ("jobs", "wait\nas is", "wait\nwhat if", "completion", "verdict", "a minute\nsooner", "a minute\nlater")


def print_answer(answer: Answer, console: Console) -> None:
    """Print what was asked, the answer in a sentence, the tables, who wins and who loses, and the caveats."""
    _say(console, answer.read, "dim")
    _say(console, f"as is:   {answer.base}", "")
    _say(console, f"what if: {'; '.join(answer.changes)}", "")
    _say(console, f"\n{summary(answer)}\n", "bold")
    print_comparison(answer.found, console, titled=False)
    for cast in casts(answer):
        _cast(cast, console)
    _say(console, "\nhow far to believe it", "italic")
    for sentence in caveats(answer):
        _say(console, f"- {sentence}", "dim")


def _cast(cast: Cast, console: Console) -> None:
    _say(
        console, f"\nwho wins and who loses, by {cast.title}; the change of the completion with its interval", "italic"
    )
    rows = tuple((group.name, *_cells(group)) for group in cast.groups)
    wide = Grid((cast.title, *HEADS), rows)
    names = [head.replace("\n", " ") for head in HEADS]
    grids = [wide] if wide.width <= console.width else stacked(names, [(r[0], r[1:]) for r in rows], console.width)
    for grid in grids:
        for line in grid.head_lines():
            console.print(Text(line, "bold"), soft_wrap=True)
        for line in grid.row_lines():
            console.print(Text(line), soft_wrap=True)
    if cast.more:
        _say(console, f"and {cast.more} between them (--json has them)", "dim")


def _cells(group: Group) -> tuple[str, ...]:
    return (
        f"{group.jobs:,}", short(group.wait_before), short(group.wait_after), change_of(group), group.verdict,
        f"{group.better:,}", f"{group.worse:,}",
    )  # fmt: skip


def _say(console: Console, words: str, style: str) -> None:
    console.print(Text(words, style), soft_wrap=not console.is_terminal)
