"""`clearway budgets`, and how budgets are drawn."""

from __future__ import annotations

from typing import Any

from clearway.cli import shown
from clearway.cli.past import asked
from clearway.cli.shell import Shell, command
from clearway.cli.table import Column, draw

_COLUMNS = (
    Column("BUDGET", cut=True), Column("FOR", cut=True), Column("PERIOD"), Column("GPU HOURS", right=True),
    Column("COST", right=True), Column("ENDS"), Column("STATE"),
)  # fmt: skip


@command("budgets")
def budgets_command(shell: Shell) -> None:
    """Show what of each budget is used: GPU-hours and money, when its period ends, whether it is used up.

    The controller is asked, and its journal read where none runs. Budgets are set in clearway.yaml.
    """
    rows = asked(shell, lambda client: client.budgets(), lambda: _read(shell))
    if shell.as_json:
        shell.document({"budgets": rows})
    elif rows:
        draw_budgets(rows)
    else:
        shell.line("no budgets")


def _read(shell: Shell) -> list[dict[str, Any]]:
    from clearway.api.past.questions import budgets
    from clearway.compose.past import past_of

    with past_of(shell.home) as past:
        return budgets(past)


def draw_budgets(rows: list[dict[str, Any]]) -> None:
    """Draw how budgets stand, a line each."""
    draw(_COLUMNS, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    whom = f"tenant {row['tenant']}" if row["tenant"] else f"queue {row['queue']}"
    return [
        row["name"], whom, row["period"], _of(row["gpu_hours"], row["most_gpu_hours"]),
        _of(row["cost"], row["most_cost"]), shown.clock(row["until"]), "used up" if row["used_up"] else "open",
    ]  # fmt: skip


def _of(used: float, most: float | None) -> str:
    """Return what is used, of what may be where that is bounded."""
    return f"{used:.2f}" if most is None else f"{used:.2f} / {most:.2f}"
