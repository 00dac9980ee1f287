"""A group of commands whose modules are imported when a command is called, and not before."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from clearway.cli import faults

if TYPE_CHECKING:
    from collections.abc import Mapping


class Entry(NamedTuple):
    """Where a command lives, and its line in the overview (so that the overview imports nothing)."""

    module: str
    attribute: str
    section: str
    line: str


class LazyGroup(click.Group):
    """Finds its commands in a table of entries; shows them by section; turns every error into one line and a code."""

    def __init__(self, *args: Any, entries: Mapping[str, Entry], **kwargs: Any) -> None:  # noqa: ANN401 - click's own signature
        """Keep the table; `args` and `kwargs` are those of click.Group."""
        super().__init__(*args, **kwargs)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return it; None if there is no such command."""
        del ctx
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        found = getattr(import_module(entry.module), entry.attribute)
        if not isinstance(found, click.Command):
            msg = f"{entry.module}.{entry.attribute} is no command"
            raise TypeError(msg)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a line, or name the nearest one."""
        if args and args[0] not in self.entries and not args[0].startswith("-"):
            near = get_close_matches(args[0], self.entries, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their sections, without importing any."""
        del ctx
        for section in dict.fromkeys(entry.section for entry in self.entries.values()):
            with formatter.section(section):
                formatter.write_dl([(n, e.line) for n, e in self.entries.items() if e.section == section])

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - click's own signature
        """Run a command line and exit: with the command's number, or with the number of its error."""
        words = args[0] if args else extra.get("args")
        return faults.guarded(lambda: super(LazyGroup, self).main(*args, **{**extra, "standalone_mode": False}), words)
