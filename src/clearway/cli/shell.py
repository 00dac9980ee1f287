"""What every command gets: where the controller's home is, and whether a person or a program reads."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli import faults
from clearway.cli.habits import hint
from clearway.cli.shown import keep_time, plain
from clearway.model.errors import ClearwayError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.sdk.client import Client


@dataclass(frozen=True)
class Shell:
    """One call of the command line. `home` None means the default state directory."""

    home: Path | None = None
    as_json: bool = False

    def client(self) -> Client:
        """Return a client of the running controller; raises ControllerError where none runs.

        With CLEARWAY_URL that is the one at this address, to which the token in CLEARWAY_TOKEN_FILE is shown.
        """
        from clearway.sdk.client import Client

        return Client.usual(self.home).heard_by(keep_time)

    def document(self, value: object) -> None:
        """Write the one JSON document of this call."""
        click.echo(json.dumps(value, indent=2))

    def line(self, text: str) -> None:
        """Write a line for people, with control characters written out."""
        click.echo(plain(text))

    def note(self, text: str) -> None:
        """Write a line about what is being done to stderr, where it does not mix with results."""
        click.echo(f"clearway: {plain(text)}", err=True)


class _Directory(click.Path):
    """A directory, but not the empty text of a variable that is not set: that would be the current one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        if value == "":
            self.fail("the name of a directory is needed", param, ctx)
        return super().convert(value, param, ctx)


_HOME = click.option(
    "--home",
    type=_Directory(file_okay=False, path_type=Path),
    metavar="DIR",
    help="State directory of the controller [env CLEARWAY_HOME].",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Write one JSON document; errors too, to stderr.")


def shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function the options that all commands and the program itself have."""
    return _HOME(_JSON(function))


def command(name: str, **settings: Any) -> Callable[[Callable[..., int | None]], click.Command]:  # noqa: ANN401 - click's own settings
    """Make a function a command: it gets a Shell first, then its own options; what it returns is the exit number."""

    def make(function: Callable[..., int | None]) -> click.Command:
        @functools.wraps(function)
        def call(*, home: Path | None, as_json: bool, **own: object) -> int | None:
            outer = click.get_current_context().find_object(Shell) or Shell()
            shell = Shell(home or outer.home, as_json or outer.as_json)
            try:
                return function(shell, **own)
            except ClearwayError as error:
                return faults.say(error, as_json=shell.as_json)

        made: click.Command = click.command(name, click.Command, **settings)(shared_options(call))
        return made

    return make


class _Group(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a line, or say which one is meant."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r} of {self.name}{hint(str(self.name), args[0], self.commands)}")
        return super().resolve_command(ctx, args)


def group(name: str) -> Callable[[Callable[[], None]], click.Group]:
    """Make a function the group of commands that its docstring explains; the shared options may stand behind it."""

    def make(function: Callable[[], None]) -> click.Group:
        @functools.wraps(function)
        def keep(*, home: Path | None, as_json: bool) -> None:
            context = click.get_current_context()
            outer = context.find_object(Shell) or Shell()
            context.obj = Shell(home or outer.home, as_json or outer.as_json)

        made: click.Group = click.group(name, cls=_Group)(shared_options(keep))
        return made

    return make
