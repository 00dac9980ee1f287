"""Arguments that name jobs and nodes, and what a shell offers for them on TAB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clearway.cli.shell import Shell
from clearway.cli.shown import plain
from clearway.model.errors import ClearwayError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.sdk.client import Client

MOST_OFFERED = 200


def _offer(context: click.Context, begun: str, ask: Callable[[Client], list[dict[str, Any]]]) -> list[str]:
    """Return names that begin as typed. Without a controller there are none: a shell that completes shows no errors."""
    shell = context.find_object(Shell) or Shell()
    try:
        rows = ask(Shell(context.params.get("home") or shell.home).client())
    except ClearwayError:
        return []
    names = dict.fromkeys(str(row["name"]) for row in rows)
    return [name for name in names if name.startswith(begun) and name == plain(name)][:MOST_OFFERED]


def complete_job(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Offer names of jobs."""
    return _offer(context, begun, lambda client: client.jobs(everything=True))


def complete_node(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Offer names of nodes."""
    return _offer(context, begun, lambda client: client.nodes())


def complete_queue(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Offer names of queues."""
    return _offer(context, begun, lambda client: client.queues())


def _as_text(_: click.Context, __: click.Parameter, value: Any) -> Any:  # noqa: ANN401 - one name or several
    """Refuse bytes of a command line that are no text: they name nothing."""
    for name in (value,) if isinstance(value, str) else value:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise NotFoundError(f"nothing has the name {name!r}: it is no text in UTF-8") from None
    return value


JOB = click.argument("job", metavar="JOB", callback=_as_text, shell_complete=complete_job)
JOBS = click.argument("jobs", nargs=-1, required=True, metavar="JOB...", callback=_as_text, shell_complete=complete_job)
NODES = click.argument(
    "nodes", nargs=-1, required=True, metavar="NODE...", callback=_as_text, shell_complete=complete_node
)
