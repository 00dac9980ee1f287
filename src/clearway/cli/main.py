"""The program `clearway`: its table of commands and where it begins."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import click

from clearway import __version__
from clearway.cli.lazy import Entry, LazyGroup
from clearway.cli.shell import Shell, shared_options

if TYPE_CHECKING:
    from pathlib import Path

_JOBS, _MACHINES, _CONTROLLER, _PROOF, _MORE = "Jobs", "Queues and machines", "Controller", "Proof", "More"


def _in(section: str, name: str, line: str, module: str = "") -> tuple[str, Entry]:
    return name, Entry(f"clearway.cli.{module or name}", f"{name.replace('-', '_')}_command", section, line)


COMMANDS = dict(
    (
        _in(_JOBS, "run", "Run a command as a job."),
        _in(_JOBS, "submit", "Submit the jobs of YAML files."),
        _in(_JOBS, "import", "Write batch scripts of Slurm as a job file.", "foreign"),
        _in(_JOBS, "ps", "List jobs."),
        _in(_JOBS, "show", "Show one job with its attempts."),
        _in(_JOBS, "logs", "Show what a job wrote."),
        _in(_JOBS, "why", "Explain why a job waits, or why it runs where it does."),
        _in(_JOBS, "advise", "Say what would become of jobs if they were submitted now."),
        _in(_JOBS, "eta", "Say when jobs will start, and how sure that is."),
        _in(_JOBS, "explain", "Show one cycle of decisions whole."),
        _in(_JOBS, "wait", "Wait until jobs are over."),
        _in(_JOBS, "cancel", "Cancel jobs.", "acts"),
        _in(_JOBS, "suspend", "Have a running job stand still.", "acts"),
        _in(_JOBS, "resume", "Have a job that stands still go on.", "acts"),
        _in(_JOBS, "hold", "Hold jobs back until they are released.", "verbs"),
        _in(_JOBS, "release", "Let jobs go that are held.", "verbs"),
        _in(_JOBS, "requeue", "Stop running jobs and have them wait again.", "verbs"),
        _in(_JOBS, "set", "Give a live job another priority, queue or time limit.", "verbs"),
        _in(_JOBS, "secret", "Keep passwords and keys for jobs."),
        _in(_JOBS, "flow", "Run workflows: graphs of jobs."),
        _in(_JOBS, "schedule", "Run a job or a workflow again and again."),
        _in(_JOBS, "search", "Try values until the best are found."),
        _in(_JOBS, "call", "Look at calls of tasks, and end them."),
        _in(_MACHINES, "nodes", "List nodes and what is free on them."),
        _in(_MACHINES, "queues", "Show the tree of queues: what they hold, want and may."),
        _in(_MACHINES, "queue", "Create or change a queue."),
        _in(_MACHINES, "booking", "Keep nodes or devices for queues or users.", "bookings"),
        _in(_MACHINES, "budgets", "Show what of each budget is used."),
        _in(_MACHINES, "drain", "Place nothing new on a node.", "acts"),
        _in(_MACHINES, "undrain", "Use a node again.", "acts"),
        _in(_CONTROLLER, "up", "Start a controller on this machine."),
        _in(_CONTROLLER, "down", "Stop the controller; jobs go on.", "up"),
        _in(_CONTROLLER, "status", "Show the controller and what it has in hand."),
        _in(_MACHINES, "report", "Account for what tenants, users or queues held."),
        _in(_MACHINES, "forecast", "Tell what load is to come, with intervals."),
        _in(_CONTROLLER, "top", "Watch nodes, queues and jobs as they change."),
        _in(_CONTROLLER, "db", "Back up, check, upgrade and compact the journal."),
        _in(_CONTROLLER, "dashboard", "Open the page of the controller."),
        _in(_CONTROLLER, "token", "Make, list and revoke tokens for others."),
        _in(_CONTROLLER, "changes", "Tell who changed what, from where and when."),
        _in(_CONTROLLER, "config", "Show and check the settings of a controller."),
        _in(_CONTROLLER, "policy", "Show what decides, try another policy, promote it, roll back."),
        _in(_PROOF, "simulate", "Run a scenario in virtual time and show what happened."),
        _in(_PROOF, "test", "Judge scenarios: does what they expect come true?"),
        _in(_PROOF, "audit", "Decide again what the journal records, and compare."),
        _in(_PROOF, "debug", "Pack what happened without secrets, and decide it again elsewhere."),
        _in(_PROOF, "replay", "Run a recorded workload under several policies, side by side."),
        _in(_PROOF, "whatif", "Replay the past under another policy, other machines or quotas."),
        _in(_PROOF, "history", "Take jobs of the past out, or in, as a workload for replay."),
        _in(_MORE, "completion", "Print the completion script of a shell."),
        _in(_MORE, "help", "Explain a command, or a subject such as exit-codes."),
    )
)


@click.command(
    "clearway",
    cls=LazyGroup,
    entries=COMMANDS,
    epilog="First steps: clearway run --wait -- echo hello.  Exit codes: clearway help exit-codes.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="clearway", message="%(prog)s %(version)s")
@shared_options
@click.pass_context
def cli(ctx: click.Context, home: Path | None, as_json: bool) -> None:  # noqa: FBT001 - click calls it by name
    """Schedule AI work on shared GPUs: it runs when it can, and says why when it cannot."""
    ctx.obj = Shell(home, as_json)


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal's encoding lacks is no error
    cli.main(prog_name="clearway")
