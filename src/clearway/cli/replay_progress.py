"""The progress of a replay: a bar a policy with its rate and the time left, on a terminal only."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clearway.sim.results.replay import Plan


@contextmanager
def progress(plans: Sequence[Plan], jobs: int) -> Iterator[Callable[[int, int], None]]:
    """Show bars on stderr while within; yields what takes the number of a plan and its finished jobs."""
    if not sys.stderr.isatty():
        yield lambda _plan, _finished: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} jobs/s" if task.speed else "", style="dim")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(""), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = [bars.add_task(plan.label, total=jobs) for plan in plans]
        yield lambda plan, finished: bars.update(tasks[plan], completed=finished)
