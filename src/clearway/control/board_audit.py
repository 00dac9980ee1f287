"""The board beside the world: rows, grants and sums that readers see must be those that decisions rest on.

What differs is put right in place, row by row, since readers hold on to the board.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clearway.control.books import Books
from clearway.loop.difference import Between, Difference
from clearway.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.control.board import Board
    from clearway.control.rows import NodeRow
    from clearway.loop.world import World
    from clearway.model.events import Grant
    from clearway.model.ids import JobId

SUMS = ("tasks", "use", "shares", "memories")


def mend(board: Board, world: World) -> list[Difference]:
    """Put right what the board says otherwise than the world, and return what that was."""
    said = [*_rows(board, world), *_grants(board.books, world), *_node_sums(board.books, world), *_queues(board)]
    return [Difference(Between.BOARD, f"the board {text}") for text in said]


def _rows(board: Board, world: World) -> Iterator[str]:
    for job, entry in world.jobs.items():
        row = board.jobs.get(job)
        if row is None or entry.spec.array is not None:
            continue
        if (row.state, row.attempt) != (entry.state, entry.attempt):
            yield f"has job {job} {row.state} in attempt {row.attempt}; it is {entry.state} in {entry.attempt}"
            board.jobs[job] = replace(row, state=entry.state, attempt=entry.attempt)


def _grants(books: Books, world: World) -> Iterator[str]:
    held: dict[JobId, dict[tuple[int, int], Grant]] = {job: e.held for job, e in world.jobs.items() if e.held}
    for job in sorted({*held, *books.held}):
        if held.get(job, {}) != books.held.get(job, {}):
            yield f"has other grants of job {job} than it holds"
            books.held[job] = dict(held.get(job, {}))


def _node_sums(books: Books, world: World) -> Iterator[str]:
    """Work out the sums of nodes and queues anew from the grants."""
    fresh = Books()
    fresh.nodes.update(
        (number, replace(row, tasks=0, use=(), shares=(), memories=())) for number, row in books.nodes.items()
    )
    fresh.queues.update((name, replace(row, use=())) for name, row in books.queues.items())
    for job, held in books.held.items():
        if held:
            fresh.enter(job, world.jobs[job].spec)
            fresh.add(job, held.values())
    for number, row in fresh.nodes.items():
        now = books.nodes[number]
        wrong = [name for name in SUMS if _plain(now, name) != _plain(row, name)]
        if wrong:
            yield f"has other sums for node {row.spec.name} than its grants: {', '.join(wrong)}"
            books.nodes[number] = replace(now, **{name: getattr(row, name) for name in SUMS})
    for name, queue in fresh.queues.items():
        if books.queues[name].use != queue.use:
            yield f"has another use for queue {name} than its grants"
            books.queues[name] = replace(books.queues[name], use=queue.use)


def _plain(row: NodeRow, name: str) -> object:
    """Return a sum without zeros at the end, which say nothing."""
    found = list(getattr(row, name)) if name in ("shares", "memories") else getattr(row, name)
    while isinstance(found, list) and found and not found[-1]:
        found.pop()
    return found


def _queues(board: Board) -> Iterator[str]:
    live = [row for row in board.jobs.values() if row.queue and not row.over and row.progress is None]
    there = Counter((row.queue, row.state is State.PENDING) for row in live)
    for name, row in list(board.queues.items()):
        pending, running = there[name, True], there[name, False]
        if (row.pending, row.running) != (pending, running):
            counts = f"counts {row.pending} that wait and {row.running} that run in queue {name}"
            yield f"{counts}; it is {pending} and {running}"
            board.queues[name] = replace(row, pending=pending, running=running)
