"""The tables of the page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.observe.report.colours import policy_class
from clearway.observe.report.numbers import percent, plain, short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clearway.sim.results.outcome import Comparison

SHOWN_QUEUES = 24


class Column(NamedTuple):
    """A figure: its place in the map of figures, how it is shown, and which end is better (0: neither)."""

    group: str
    name: str
    path: tuple[str, ...]
    show: Callable[[Any], str]
    better: int


COLUMNS = (
    Column("", "finished", ("finished",), plain, 0),
    Column("wait", "mean", ("wait", "mean"), short, -1),
    Column("wait", "median", ("wait", "median"), short, -1),
    Column("wait", "p95", ("wait", "p95"), short, -1),
    Column("completion", "mean", ("completion", "mean"), short, -1),
    Column("completion", "p95", ("completion", "p95"), short, -1),
    Column("", "slowdown", ("bounded_slowdown",), plain, -1),
    Column("", "makespan", ("makespan",), short, -1),
    Column("", "use", ("use",), percent, 1),
    Column("", "fragmented", ("fragmented",), percent, -1),
    Column("fairness", "finish", ("finish_time_fairness", "mean"), plain, -1),
    Column("fairness", "unfair", ("finish_time_fairness", "unfair"), percent, -1),
    Column("fairness", "share", ("share_fairness",), plain, 1),
    Column("", "preempted", ("preemptions",), plain, 0),
)
QUEUE_COLUMNS = (
    Column("", "finished", ("finished",), plain, 0),
    Column("wait", "mean", ("wait", "mean"), short, -1),
    Column("wait", "p95", ("wait", "p95"), short, -1),
    Column("completion", "mean", ("completion", "mean"), short, -1),
    Column("", "slowdown", ("bounded_slowdown",), plain, -1),
    Column("", "use", ("use",), percent, 0),
    Column("", "satisfied", ("satisfied",), percent, 1),
)


def cells_of(figures: Mapping[str, Any], columns: Sequence[Column]) -> list[str]:
    """Return what stands in each column."""
    return [column.show(_value(figures, column)) for column in columns]


def policies(comparison: Comparison, names: Sequence[str]) -> str:
    """Return the table of policies; the best of each column stands out."""
    rows = [o.figures for o in comparison.outcomes]
    body = _rows(rows, COLUMNS, [_policy(i, name, comparison) for i, name in enumerate(names)])
    return f'<section><div class="card wide"><table>{_heading(COLUMNS)}<tbody>{body}</tbody></table></div></section>'


def queues(comparison: Comparison, names: Sequence[str], classes: Mapping[str, str]) -> str:
    """Return the table of queues, each with its row for every policy."""
    if len(classes) <= 1:
        return ""
    body = ""
    for queue in list(classes)[:SHOWN_QUEUES]:
        held = [
            (i, o.figures["queues"][queue]) for i, o in enumerate(comparison.outcomes) if queue in o.figures["queues"]
        ]
        mark = f'<i class="{classes[queue]}"></i>'
        body += f'<tr class="group"><td colspan="{len(QUEUE_COLUMNS) + 1}">{mark}{escape(queue)}</td></tr>'
        body += _rows([f for _, f in held], QUEUE_COLUMNS, [_policy(i, names[i], comparison) for i, _ in held])
    more = len(classes) - SHOWN_QUEUES
    rest = f'<p class="soft">and {more} more queues, in the JSON</p>' if more > 0 else ""
    table = f'<div class="card wide"><table>{_heading(QUEUE_COLUMNS)}<tbody>{body}</tbody></table>{rest}</div>'
    return f"<section><h2>By queue</h2>{table}</section>"


def _policy(index: int, name: str, comparison: Comparison) -> str:
    partial = "" if comparison.outcomes[index].complete else ' <small class="soft">partial</small>'
    return f'<i class="{policy_class(index)}"></i>{escape(name)}{partial}'


def _heading(columns: Sequence[Column]) -> str:
    groups: list[list[Any]] = []
    for column in columns:
        if groups and column.group and groups[-1][0] == column.group:
            groups[-1][1] += 1
        else:
            groups.append([column.group, 1])
    upper = "".join(f'<th colspan="{n}" class="over">{name}</th>' for name, n in groups)
    lower = "".join(f"<th>{c.name}</th>" for c in columns)
    return f"<thead><tr><th></th>{upper}</tr><tr><th></th>{lower}</tr></thead>"


def _rows(figures: Sequence[Mapping[str, Any]], columns: Sequence[Column], names: Sequence[str]) -> str:
    best = [_best([_value(f, c) for f in figures], c) for c in columns]
    rows = ""
    for row, (name, f) in enumerate(zip(names, figures, strict=True)):
        cells = "".join(
            f"{_cell(row in winners)}{c.show(_value(f, c))}</td>" for c, winners in zip(columns, best, strict=True)
        )
        rows += f'<tr><td class="name">{name}</td>{cells}</tr>'
    return rows


def _cell(best: bool) -> str:  # noqa: FBT001 - one of two tags
    return '<td class="best">' if best else "<td>"


def _value(figures: Mapping[str, Any], column: Column) -> Any:  # noqa: ANN401 - a figure is a number or nothing
    found: Any = figures
    for part in column.path:
        found = found[part]
    return found


def _best(values: Sequence[float | None], column: Column) -> set[int]:
    """Return the rows that show the best value, none where all show the same or the column knows no better."""
    known = [v for v in values if v is not None]
    if not column.better or len(known) <= 1:
        return set()
    winner = column.show(max(known) if column.better > 0 else min(known))
    found = {i for i, v in enumerate(values) if column.show(v) == winner}
    return found if len(found) < len(values) else set()
