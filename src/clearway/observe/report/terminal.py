"""The comparison in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from clearway.observe.report.numbers import percent, plain, short, signed
from clearway.sim.results.outcome import labels

if TYPE_CHECKING:
    from rich.console import Console

    from clearway.sim.results.outcome import Comparison, Outcome

SHOWN_QUEUES = 12


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the table of policies, that of queues, the differences, and what has to be known to judge them."""
    if not comparison.complete:
        console.print(Text("PARTIAL: interrupted; the figures hold for what had finished by then", style="bold yellow"))
    console.print(policies_table(comparison))
    if len(comparison.outcomes[0].figures["queues"]) > 1:
        console.print(queues_table(comparison))
    if comparison.differences:
        console.print(differences_table(comparison))
    for sentence in (*comparison.damage, *comparison.notes):
        console.print(Text(sentence, style="dim"))


def policies_table(comparison: Comparison) -> Table:
    """Return one row a policy."""
    table = Table(title=f"{comparison.workload} on {comparison.fleet}", title_justify="left", box=None, pad_edge=False)
    for name in ("policy", "finished", "wait\nmean", "\nmedian", "\np95", "completion\nmean", "\nmedian", "\np95"):
        table.add_column(name, justify="left" if name == "policy" else "right", no_wrap=True)
    for name in ("slowdown", "makespan", "use", "fragmented", "fairness\nfinish", "\nshare", "preempted"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, outcome in zip(labels(comparison.outcomes), comparison.outcomes, strict=True):
        table.add_row(label if outcome.complete else f"{label} (partial)", *_row(outcome))
    return table


def _row(outcome: Outcome) -> list[str]:
    f = outcome.figures
    spans = [short(f[what][how]) for what in ("wait", "completion") for how in ("mean", "median", "p95")]
    return [
        plain(f["finished"]), *spans, plain(f["bounded_slowdown"]), short(f["makespan"]), percent(f["use"]),
        percent(f["fragmented"]), plain(f["finish_time_fairness"]["mean"]), plain(f["share_fairness"]),
        plain(f["preemptions"]),
    ]  # fmt: skip


def queues_table(comparison: Comparison) -> Table:
    """Return one row a queue and policy, the queues that ask for most first."""
    table = Table(title="by queue", title_justify="left", box=None, pad_edge=False)
    for name in (
        "queue",
        "policy",
        "finished",
        "wait mean",
        "wait p95",
        "completion mean",
        "slowdown",
        "use",
        "satisfied",
    ):
        table.add_column(name, justify="left" if name in {"queue", "policy"} else "right", no_wrap=True)
    names = largest_queues(comparison)
    for queue in names[:SHOWN_QUEUES]:
        for label, outcome in zip(labels(comparison.outcomes), comparison.outcomes, strict=True):
            f = outcome.figures["queues"].get(queue)
            if f:
                table.add_row(
                    queue, label, plain(f["finished"]), short(f["wait"]["mean"]), short(f["wait"]["p95"]),
                    short(f["completion"]["mean"]), plain(f["bounded_slowdown"]), percent(f["use"]),
                    percent(f["satisfied"]),
                )  # fmt: skip
    if len(names) > SHOWN_QUEUES:
        table.caption = f"and {len(names) - SHOWN_QUEUES} more queues (--json has them)"
    return table


def largest_queues(comparison: Comparison) -> list[str]:
    """Return the queues, those that use most first."""
    queues = comparison.outcomes[0].figures["queues"]
    return sorted(queues, key=lambda name: (-(queues[name]["use"] or 0), name))


def differences_table(comparison: Comparison) -> Table:
    """Return the differences from the first policy with their intervals."""
    first = labels(comparison.outcomes)[0]
    table = Table(title=f"difference from {first}, with 95 % intervals", title_justify="left", box=None, pad_edge=False)
    for name in ("policy", "wait", "", "completion", "", "slowdown", "", "resampled"):
        table.add_column(name, justify="left" if name == "policy" else "right", no_wrap=True)
    for label, found in comparison.differences.items():
        if not found["jobs"]:
            continue
        cells: list[str] = []
        for what, shown in (("wait", short), ("completion", short), ("bounded_slowdown", plain)):
            d = found[what]
            interval = "too few" if d["low"] is None else f"{signed(shown(d['low']))} .. {signed(shown(d['high']))}"
            cells += [signed(shown(d["mean"])), f"[{interval}]"]
        table.add_row(label, *map(Text, cells), f"{found['blocks']} {found['block']}s")
    return table
