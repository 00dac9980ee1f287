"""`clearway whatif`."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from clearway.cli.faults import INTERRUPTED
from clearway.cli.replay import write_page
from clearway.cli.shell import Shell, command
from clearway.model import values

if TYPE_CHECKING:
    from clearway.sim.results.verdict import Answer
    from clearway.whatif.answer import Question

_FILE = click.Path(path_type=Path, dir_okay=False)


@command("whatif")
@click.argument("workload", type=_FILE, required=False, metavar="[WORKLOAD]")
@click.option("--policy", "-p", metavar="P", help="Decide by this policy, named as for replay.")
@click.option(
    "--fleet", multiple=True, metavar="CHANGE", help="+8xH100, -8xA100, +2xnode:NAME, -1xnode:NAME, or a YAML file."
)
@click.option(
    "--queue", "queues", multiple=True, metavar="QUEUE.WORD=VALUE", help="research.guarantee.gpus=16; or none."
)
@click.option("--limit", "limits", multiple=True, metavar="NAME=SLOTS", help="Other slots of a shared limit.")
@click.option("--since", metavar="TIME", help="Jobs submitted since then, or since so long ago: 30d.")
@click.option(
    "--warm-up", default="7d", show_default=True, metavar="TIME", help="So much before --since fills machines."
)
@click.option("--base-policy", metavar="P", help="What is [the controller's policy; fair for a WORKLOAD].")
@click.option("--base-fleet", type=_FILE, help="Machines that are there, where a WORKLOAD does not state its own.")
@click.option(
    "--think", default="20m", show_default=True, metavar="TIME", help="Longest time of thought that binds; or none."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the intervals and of what is left to chance."
)
@click.option("--jobs", "-j", "workers", type=click.IntRange(1, 2), help="Sides run at once [2, or as many as CPUs].")
@click.option("--html", type=_FILE, metavar="FILE", help="Write a page with plots that needs nothing else.")
@click.option("--keep", is_flag=True, help="Have the controller work it out, and keep it for its page Policy.")
def whatif_command(  # noqa: PLR0913 - one parameter an option
    shell: Shell,
    *,
    workload: Path | None,
    policy: str | None,
    fleet: tuple[str, ...],
    queues: tuple[str, ...],
    limits: tuple[str, ...],
    since: str | None,
    warm_up: str,
    base_policy: str | None,
    base_fleet: Path | None,
    think: str,
    seed: int,
    workers: int | None,
    html: Path | None,
    keep: bool,
) -> int:
    """Replay the past as it would have gone under another policy, other machines or other quotas.

    The past is the journal of the controller (whether one runs or not), or a WORKLOAD. The same jobs are run twice, as
    things are and as they would be, and compared job by job. Example:

    clearway whatif --policy sjf --fleet +8xH100 --queue research.guarantee.gpus=16 --since 30d
    """
    if policy is None and not (fleet or queues or limits):
        raise click.UsageError("say what would be otherwise: --policy, --fleet, --queue or --limit")
    if keep:
        from clearway.cli.whatif_keep import keep_whatif, words_of

        if workload is not None or base_policy is not None or base_fleet is not None:
            raise click.UsageError(
                "--keep is about the controller's own past: no WORKLOAD, --base-policy, --base-fleet"
            )
        words = {"fleet": fleet, "queues": queues, "limits": limits, "warm_up": warm_up, "think": think, "seed": seed}
        return keep_whatif(shell, words_of(policy, since, words), html)
    from clearway.cli.replay_policies import one
    from clearway.compose.whatif_past import of_file, of_home
    from clearway.whatif.answer import Question

    think_us = 0 if think == "none" else values.duration("think", think)
    warm_us = values.duration("warm-up", warm_up)
    with TemporaryDirectory(prefix="clearway-whatif-") as folder:
        source = (
            of_home(shell.home, since, warm_us, Path(folder))
            if workload is None
            else of_file(workload, since, warm_us, Path(folder))
        )
        base, other = one(base_policy) if base_policy else source.policy, one(policy) if policy else None
        question = Question(
            source.workload, source.read, base, other, base_fleet, fleet, queues, limits, think_us,
            source.first_us, seed, html is not None,
        )  # fmt: skip
        answer = _answered(question, workers or min(2, os.cpu_count() or 1))
    if answer is None:
        shell.note("interrupted before there was anything to compare")
        return INTERRUPTED
    _show(shell, answer, html)
    return 0 if answer.found.complete else INTERRUPTED


def _answered(question: Question, workers: int) -> Answer | None:
    from clearway.cli.replay_progress import progress
    from clearway.whatif.answer import prepare

    prepared = prepare(question)
    with progress(prepared.plans, len(prepared.who)) as told:
        return prepared.answer(workers, told)


def _show(shell: Shell, answer: Answer, html: Path | None) -> None:
    import sys

    from rich.console import Console

    from clearway.observe.report import PIPE_WIDTH, print_answer, whatif_json, whatif_page

    if html is not None:
        write_page("html", html, whatif_page(answer))
    if shell.as_json:
        shell.document(whatif_json(answer))
        return
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    print_answer(answer, Console(file=sys.stdout, width=width, highlight=False))
    if html is not None:
        shell.note(f"wrote {html}")
