"""What every route works with, and how a job is found."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

import msgspec
from fastapi import Depends, Path, Request, Response
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool

from clearway.api.pace import Pace
from clearway.api.past.shadowing import Shadowing
from clearway.api.who import WHO, Role, Who
from clearway.control import Board
from clearway.model.asks import LookFlows, LookSchedules, LookSearches
from clearway.model.errors import NotFoundError, UnknownWordError
from clearway.model.events import Submitted
from clearway.model.ids import JobId
from clearway.model.job import member
from clearway.observe.timeline import records_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path as FilePath

    from fastapi.dependencies.models import Dependant

    from clearway.api.tokens import Notes
    from clearway.calls.service import CallService
    from clearway.config.settings import Settings
    from clearway.config.tenants import Tenant
    from clearway.control import Controller, JobRow
    from clearway.model.asks import Ask
    from clearway.model.events import Record, TaskRef
    from clearway.observe.exposition import Metrics
    from clearway.observe.rules import Rules
    from clearway.ports.journal import Journal


@dataclass
class InForce:
    """Settings of the desk that hold anew when they are read anew."""

    tenants: tuple[Tenant, ...] = ()


@dataclass(frozen=True)
class Desk:
    """A controller and what belongs to it.

    `log_path` tells where a task's stdout or stderr lies; `owner` is the user whose controller it is; `about` who
    serves here (pid, version, ..); `enforced` what the engine does about each thing that a job can ask for, and `lacks`
    what it does not have; `stop` ends the process; `stopping` is set when that has begun. `reread` reads the settings
    anew, and `again` says what to ask so that they hold, and what to call when that is answered. `metrics` are what
    Prometheus reads, `notes` where tokens are kept; `window` opens a port for browsers where none is open, and returns
    its address. `rules` tell what is done without being asked. `calls` is the queue of small calls. `pace` is how fast
    large answers leave. `shadowing` looks after a candidate policy.
    """

    controller: Controller
    journal: Journal
    log_path: Callable[[TaskRef, str], FilePath]
    settings: Settings
    owner: str
    about: dict[str, Any]
    enforced: dict[str, str]
    lacks: Mapping[str, str]
    stop: Callable[[], None]
    reread: Callable[[], Settings]
    again: Callable[[Settings], tuple[list[Ask], Callable[[], None]]]
    metrics: Metrics
    notes: Notes
    window: Callable[[], Awaitable[str]]
    rules: Rules
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    pace: Pace = field(default_factory=Pace)
    in_force: InForce = field(init=False)
    calls: CallService = field(init=False)
    shadowing: Shadowing = field(init=False)

    def __post_init__(self) -> None:
        """Begin with what the settings say."""
        object.__setattr__(self, "in_force", InForce(self.settings.tenants))
        object.__setattr__(self, "shadowing", Shadowing(self))

    def serve(self, calls: CallService) -> None:
        """Have a queue of calls, which reads its words by this desk."""
        object.__setattr__(self, "calls", calls)

    @property
    def login(self) -> str:
        """The name of who asks."""
        return self.who.name

    @property
    def who(self) -> Who:
        """Who asks; what is done without being asked is done in the owner's name."""
        return WHO.get(Who(self.owner, Role.admin))

    def check_mine(self, job: JobId) -> None:
        """Raise NotAllowedError where whoever asks may not change a job; NotFoundError: there is none."""
        row = self.row(job)
        self.who.check_owns([(row.user, row.tenant)], f"job {row.id} ({row.name})")

    @property
    def board(self) -> Board:
        """What is so now."""
        return self.controller.board

    async def ask(self, ask: Ask) -> object:
        """Ask the controller; returns when the answer is in the journal, or raises what it refused with."""
        return await asyncio.wrap_future(self.controller.ask(ask))

    def job_id(self, ref: str) -> JobId:
        """Return the job that a reference means: `id:N`, `name:NAME`, a number, or a name. NotFoundError: none."""
        found = self._known(ref)
        if found is None and (indexed := _INDEXED.fullmatch(ref)):
            return self._indexed(indexed[1], int(indexed[2]))
        if found is None:
            raise _no_job(ref)
        return found

    def _known(self, ref: str) -> JobId | None:
        """Return the job of a number or a name, None where there is none of this name at hand."""
        kind, colon, rest = ref.partition(":")
        if colon and kind == "id" and _is_number(rest):
            return JobId(int(rest))
        if _is_number(ref) and int(ref) in self.board.jobs:
            return JobId(int(ref))
        name = rest if colon and kind == "name" else ref
        found = self.board.named(name)
        if found is None and _is_number(ref):
            return JobId(int(ref))  # perhaps one that only the journal knows
        return found

    def row(self, job: JobId) -> JobRow:
        """Return a job's row, from the journal where it is no longer on the board. NotFoundError: there is none."""
        row = self.board.jobs.get(job)
        if row is not None:
            return row
        records = [e.record for e in self.journal.of_job(job)]
        return Board.row_of(records or self._not_let_in(job), job)

    def records(self, job: JobId) -> list[Record]:
        """Return a job's records, and those of the classes it waited in, in order."""
        return records_of(self.journal, job) or self._not_let_in(job)

    def _indexed(self, ref: str, index: int) -> JobId:
        """Return the job of an array that has an index. NotFoundError: it is no array, or has no such index."""
        array = self._known(ref)
        if array is None:
            raise _no_job(ref)
        progress = self.row(array).progress
        position = None if progress is None else progress.array.position(index)
        if progress is None or position is None:
            told = "is no array" if progress is None else f"has indices {progress.array.text()}"
            raise NotFoundError(f"there is no job {ref}[{index}]: {ref} {told}")
        return JobId(array + 1 + position)

    def _not_let_in(self, job: JobId) -> list[Record]:
        """Return what the journal would say of a job of an array whose turn has not come yet; nothing if it is none."""
        for row in list(self.board.jobs.values()):
            if row.progress is not None and not row.over and row.id < job <= row.id + row.progress.array.size:
                first = next(e.record for e in self.journal.of_job(row.id))
                if isinstance(first, Submitted):
                    spec = member(first.spec, job - row.id - 1)
                    return [replace(first, job=job, spec=spec, after=(), array=row.id, since_us=first.at_us)]
        return []

    def node_name(self, node: int) -> str:
        """Return the name of a node, also of one that is gone."""
        return self.board.node_names.get(node, f"node {node}")  # type: ignore[call-overload,no-any-return]


LARGEST = 2**63 - 1
"""The largest number that files, databases and JSON know."""
_INDEXED = re.compile(r"(.+)\[([0-9]{1,7})\]")


def _no_job(ref: str) -> NotFoundError:
    name = ref.removeprefix("name:")
    return NotFoundError(f"there is no job {name!r} among those at hand; older ones are found by their number")


def answer(content: object, status: int = 200) -> Response:
    """Return rows as JSON, encoded in the thread of the caller."""
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18  # noqa: PLR2004  fits 64 bits


async def _desk(request: Request) -> Desk:
    """Return the desk, after refusing query words that the route does not know."""
    known = _query_words(request.scope["route"].dependant)
    for word in request.query_params:
        if word not in known:
            raise UnknownWordError.of(word, known, f"query of {request.scope['route'].name}")
    desk: Desk = request.app.state.desk
    return desk


def _query_words(dependant: Dependant) -> set[str]:
    own = {field.alias for field in dependant.query_params}
    return own.union(*map(_query_words, dependant.dependencies))


async def _job(request: Request) -> JobId:
    desk: Desk = request.app.state.desk
    ref = unquote(request.path_params["ref"], errors="replace")
    try:
        if _INDEXED.fullmatch(ref):  # its array may be in the journal alone
            return await run_in_threadpool(desk.job_id, ref)
        return desk.job_id(ref)
    except NotFoundError as error:
        raise NotFoundError(f"{error}{await _else(desk, ref.removeprefix('name:'))}") from None


async def _else(desk: Desk, name: str) -> str:
    """Return what else has a name that no job has, as the end of a message."""
    for what, ask in (("flow", LookFlows()), ("search", LookSearches()), ("schedule", LookSchedules())):
        found: Any = await desk.ask(ask)
        if any(view.name == name for view in found):
            word = "workflow" if what == "flow" else what
            return (
                f"; there is a {word} of this name: clearway {what} {'list' if what == 'schedule' else f'show {name}'}"
            )
    return ""


async def _node(request: Request) -> str:
    return unquote(request.path_params["node"], errors="replace")


TheDesk = Annotated[Desk, Depends(_desk)]


async def _my_job(request: Request, job: Annotated[JobId, Depends(_job)]) -> JobId:
    """Return a job that whoever asks may change."""
    desk: Desk = request.app.state.desk
    await run_in_threadpool(desk.check_mine, job)
    return job


TheJob = Annotated[JobId, Depends(_job)]
MyJob = Annotated[JobId, Depends(_my_job)]
TheNode = Annotated[str, Depends(_node)]
TheCall = Annotated[int, Path(ge=0, le=LARGEST)]
