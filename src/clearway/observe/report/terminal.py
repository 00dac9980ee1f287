"""The comparison in a terminal. No number is ever cut: what is too wide is stacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from clearway.observe.report.grid import Grid, stacked
from clearway.observe.report.numbers import plain, short, signed
from clearway.observe.report.tables import COLUMNS, QUEUE_COLUMNS, Column, cells_of
from clearway.sim.results.outcome import labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console

    from clearway.sim.results.outcome import Comparison

SHOWN_QUEUES = 12
PIPE_WIDTH = 100
"""Columns of a file or a pipe, which has no width of its own."""
DIFFERENCES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("wait", "wait", short), ("completion", "completion", short), ("bounded_slowdown", "slowdown", plain),
)  # fmt: skip


def print_comparison(comparison: Comparison, console: Console, *, titled: bool = True) -> None:
    """Print the table of policies, that of queues, the differences, and what has to be known to judge them."""
    if not comparison.complete:
        _say(console, "PARTIAL: interrupted; the figures hold for what had finished by then", "bold yellow")
    if titled:
        _say(console, f"{comparison.workload} on {comparison.fleet}", "italic")
    _policies(comparison, console)
    if len(comparison.outcomes[0].figures["queues"]) > 1:
        _queues(comparison, console)
    if comparison.differences:
        _differences(comparison, console)
    for sentence in (*comparison.damage, *comparison.notes):
        _say(console, sentence, "dim")


def largest_queues(comparison: Comparison) -> list[str]:
    """Return the queues, those that use most first."""
    queues = comparison.outcomes[0].figures["queues"]
    return sorted(queues, key=lambda name: (-(queues[name]["use"] or 0), name))


def _policies(comparison: Comparison, console: Console) -> None:
    named = zip(labels(comparison.outcomes), comparison.outcomes, strict=True)
    shown = [(name if o.complete else f"{name} (partial)", cells_of(o.figures, COLUMNS)) for name, o in named]
    wide = Grid(("policy", *_over(COLUMNS)), tuple((name, *cells) for name, cells in shown))
    if wide.width <= console.width:
        _draw(console, [wide])
    else:
        _draw(console, stacked(_beside(COLUMNS), shown, console.width))


def _over(columns: Iterable[Column]) -> tuple[str, ...]:
    return tuple(f"{c.group}\n{c.name}" if c.group else c.name for c in columns)


def _beside(columns: Iterable[Column]) -> list[str]:
    return [f"{c.group} {c.name}".strip() for c in columns]


def _queues(comparison: Comparison, console: Console) -> None:
    names = largest_queues(comparison)
    shown = {queue: _of_queue(comparison, queue) for queue in names[:SHOWN_QUEUES]}
    rows = tuple((queue, policy, *cells) for queue, found in shown.items() for policy, cells in found)
    wide = Grid(("queue", "policy", *_over(QUEUE_COLUMNS)), rows, words=2)
    _say(console, "\nby queue", "italic")
    if wide.width <= console.width:
        _draw(console, [wide])
    else:
        for queue, found in shown.items():
            _say(console, f"queue {queue}", "bold")
            _draw(console, stacked(_beside(QUEUE_COLUMNS), found, console.width))
    if len(names) > SHOWN_QUEUES:
        _say(console, f"and {len(names) - SHOWN_QUEUES} more queues (--json has them)", "dim")


def _of_queue(comparison: Comparison, queue: str) -> list[tuple[str, list[str]]]:
    named = zip(labels(comparison.outcomes), comparison.outcomes, strict=True)
    found = ((name, outcome.figures["queues"].get(queue)) for name, outcome in named)
    return [(name, cells_of(figures, QUEUE_COLUMNS)) for name, figures in found if figures]


def _differences(comparison: Comparison, console: Console) -> None:
    shown = [(name, _difference(found)) for name, found in comparison.differences.items() if found["jobs"]]
    if not shown:
        return
    figures = [word for _, name, _ in DIFFERENCES for word in (name, "")]
    wide = Grid(("policy", *figures, "resampled"), tuple((name, *cells) for name, cells in shown))
    _say(console, f"\ndifference from {labels(comparison.outcomes)[0]}, with 95 % intervals", "italic")
    if wide.width <= console.width:
        _draw(console, [wide])
    else:
        _draw(console, stacked([*figures, "resampled"], shown, console.width))


def _difference(found: Mapping[str, Any]) -> list[str]:
    cells: list[str] = []
    for what, _, words in DIFFERENCES:
        d = found[what]
        interval = "too few" if d["low"] is None else f"{signed(words(d['low']))} .. {signed(words(d['high']))}"
        cells += [signed(words(d["mean"])), f"[{interval}]"]
    return [*cells, f"{found['blocks']} {found['block']}s"]


def _draw(console: Console, grids: Sequence[Grid]) -> None:
    for grid in grids:
        for line in grid.head_lines():
            console.print(Text(line, "bold"), soft_wrap=True)
        for line in grid.row_lines():
            console.print(Text(line), soft_wrap=True)


def _say(console: Console, words: str, style: str) -> None:
    """Print a sentence: in a terminal in as many lines as it takes, into a pipe in one, so that it can be searched."""
    console.print(Text(words, style), soft_wrap=not console.is_terminal)
