"""`clearway run`."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from clearway.cli.job_options import at_this_place, given_words, job_options
from clearway.cli.shell import Shell, command
from clearway.cli.told import tell_submitted, tell_warnings

if TYPE_CHECKING:
    from clearway.sdk.client import Client


@command("run", context_settings={"allow_interspersed_args": False})
@click.option("--wait", is_flag=True, help="Stream the job's output, and exit with its exit code. Ctrl-C cancels it.")
@job_options
@click.argument("command_line", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARGUMENT]...")
def run_command(shell: Shell, *, command_line: tuple[str, ...], wait: bool, **options: Any) -> int:  # noqa: ANN401
    """Run COMMAND as a job; starts a controller if none runs.

    The options are the words of a job file, with the same meaning. Lists are written a,b or by repeating the
    option, maps as KEY=VALUE, and what is nested as YAML: --checkpoint '{every: 10m}'.
    """
    words = {"name": PurePath(command_line[0]).name or "job", **given_words(options), "run": list(command_line)}
    words = at_this_place(words)
    client = _controller(shell, words)
    answer = client.submit([words])[0]
    if wait:
        from clearway.cli.follow import follow_to_end  # it brings threads

        tell_warnings(shell, answer)
        return follow_to_end(shell, client, answer)
    if shell.as_json:
        shell.document(answer)
    else:
        tell_submitted(shell, [answer])
        shell.note(f"see: clearway logs -f {answer['id']}")
    return 0


def _controller(shell: Shell, words: dict[str, Any]) -> Client:
    """Return a client of the controller that runs, or of one that is started now, unless for words that are refused."""
    from clearway.model.errors import ControllerError
    from clearway.model.words import read_job
    from clearway.sdk.launch import ensure_controller

    try:
        return shell.client()
    except ControllerError:
        read_job(words)
        client = ensure_controller(shell.home)
        shell.note("started a controller; clearway down stops it")
        return client
