"""`clearway completion`."""

from __future__ import annotations

import os
from pathlib import PurePath

import click

from clearway.cli.shell import Shell, command

SHELLS = ("bash", "zsh", "fish")


@command("completion")
@click.argument("shell_name", required=False, type=click.Choice(SHELLS), metavar="[bash|zsh|fish]")
def completion_command(shell: Shell, shell_name: str | None) -> None:
    r"""Print the script that teaches a shell to complete commands, options and the names of jobs.

    Without an argument it is the shell that $SHELL names.

    \b
    bash:  clearway completion bash > ~/.local/share/bash-completion/completions/clearway
    zsh:   clearway completion zsh > a directory of your $fpath, as _clearway
    fish:  clearway completion fish > ~/.config/fish/completions/clearway.fish
    """
    from click.shell_completion import get_completion_class

    shell_name = shell_name or _own_shell()
    root = click.get_current_context().find_root()
    make = get_completion_class(shell_name)
    if make is None:
        raise click.UsageError(f"no completion for {shell_name}")
    script = make(root.command, {}, "clearway", "_CLEARWAY_COMPLETE").source()
    if shell.as_json:
        shell.document({"shell": shell_name, "script": script})
    else:
        click.echo(script)


def _own_shell() -> str:
    context = click.get_current_context()
    name = PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError("$SHELL names no shell that is known here: say bash, zsh or fish", context)
    return name
