"""`clearway replay`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from clearway.cli.faults import INTERRUPTED
from clearway.cli.shell import Shell, command
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from clearway.sim.results.outcome import Comparison

DEFAULT_POLICY = "fair"  # what a controller decides by where nobody says otherwise


class Wanted(NamedTuple):
    """What to run."""

    workload: Path
    fleet: Path | None
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    load: float
    workers: int | None
    pictures: bool = False


_FILE = click.Path(path_type=Path, dir_okay=False)


@command("replay")
@click.argument("workload", type=_FILE, required=False, metavar="WORKLOAD")
@click.option(
    "--policy", "-p", "policies", multiple=True, metavar="P[,P...]", help="Policies to compare; the first is the base."
)
@click.option("--fleet", type=_FILE, help="Machines (YAML, or a node list of a trace) instead of the trace's own.")
@click.option("--load", type=float, default=1.0, metavar="X", help="Have the jobs come X times as fast.")
@click.option("--seed", "seeds", type=int, multiple=True, help="Seed of what is left to chance; may be given often.")
@click.option(
    "--jobs", "-j", "workers", type=click.IntRange(1), help="Policies run at once [as many as there are CPUs]."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write one row a policy and queue.")
@click.option("--report", type=_FILE, metavar="FILE.html", help="Write a page with plots that needs nothing else.")
@click.option("--list-formats", is_flag=True, help="List the formats of workloads that can be read.")
def replay_command(  # noqa: PLR0913 - one parameter an option
    shell: Shell,
    *,
    workload: Path | None,
    policies: tuple[str, ...],
    fleet: Path | None,
    load: float,
    seeds: tuple[int, ...],
    workers: int | None,
    as_csv: bool,
    report: Path | None,
    list_formats: bool,
) -> int:
    """Run a recorded WORKLOAD through the scheduler that runs live, in virtual time, under each policy.

    A policy is a bundle (fair), orders joined by + with a backfill (fifo, fifo+none, priority+fifo+easy; +oracle
    lets each job state its real run time), a map of words, or a YAML file. Ctrl-C gives what has been found so far.
    """
    if list_formats:
        return _list_formats(shell)
    if workload is None:
        raise click.UsageError("name a WORKLOAD, or --list-formats")
    if as_csv and shell.as_json:
        raise InputError("csv", "--csv and --json", "one of them")
    wanted = Wanted(workload, fleet, policies or (DEFAULT_POLICY,), seeds or (0,), load, workers, report is not None)
    found = compared(wanted)
    if found is None:
        shell.note("interrupted before there was anything to show")
        return INTERRUPTED
    _show(shell, found, as_csv=as_csv, report=report)
    return 0 if found.complete else INTERRUPTED


def compared(wanted: Wanted) -> Comparison | None:
    """Run what is wanted; None where it was interrupted before anything came of it."""
    from clearway.cli.replay_policies import policies
    from clearway.cli.replay_progress import progress
    from clearway.sim.results.comparison import comparison
    from clearway.sim.results.replay import Plan
    from clearway.sim.results.side_by_side import run_all
    from clearway.sim.results.window import busiest
    from clearway.sim.workloads import open_workload
    from clearway.sim.workloads.fleets import fleet_for
    from clearway.sim.workloads.survey import Survey

    if not wanted.load > 0:
        raise InputError("load", wanted.load, "a number above 0")
    specs = policies(wanted.policies)
    trace = open_workload(wanted.workload)
    survey = Survey.of(trace)
    if not survey.jobs:
        raise InputError("workload", str(wanted.workload), "a workload with jobs that can be read")
    fleet = fleet_for(trace, survey, wanted.fleet)
    window = busiest(trace.arrivals(wanted.load), fleet.nodes) if wanted.pictures else None
    plans = [
        Plan(wanted.workload, fleet, label, spec, seed, wanted.load, window)
        for label, spec in specs
        for seed in wanted.seeds
    ]
    with progress(plans, survey.jobs) as told:
        outcomes = run_all(plans, wanted.workers or min(len(plans), os.cpu_count() or 1), told)
    return comparison(trace, plans, outcomes) if outcomes else None


def _list_formats(shell: Shell) -> int:
    from clearway.cli.table import Column, draw
    from clearway.sim.workloads import FORMATS

    if shell.as_json:
        shell.document([{"name": form.name, "title": form.title} for form in FORMATS])
    else:
        draw((Column("FORMAT"), Column("WHAT IT IS", wraps=True)), [(form.name, form.title) for form in FORMATS])
    return 0


def _show(shell: Shell, found: Comparison, *, as_csv: bool, report: Path | None) -> None:
    from clearway.observe.report import as_csv as csv_text
    from clearway.observe.report import as_json, page

    if report is not None:
        write_page("report", report, page(found))
    if shell.as_json:
        shell.document(as_json(found))
    elif as_csv:
        click.echo(csv_text(found), nl=False)
    else:
        _print(found)
        if report is not None:
            shell.note(f"wrote {report}")


def _print(found: Comparison) -> None:
    import sys

    from rich.console import Console

    from clearway.observe.report import PIPE_WIDTH, print_comparison

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    print_comparison(found, Console(file=sys.stdout, width=width, highlight=False))


def write_page(option: str, file: Path, text: str) -> None:
    """Write a page to the file that an option names. Raises InputError where it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(option, str(file), f"a file that can be written ({error.strerror})") from error
