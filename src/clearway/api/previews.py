"""The route that tells what other words for a queue would do, before they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.body import read_json
from clearway.api.desk import TheDesk, answer
from clearway.api.queues import TheQueue  # noqa: TC001  FastAPI reads the annotations while the program runs
from clearway.api.roles import guarded
from clearway.api.rows import plain
from clearway.control.snapshots import without_collecting
from clearway.model.errors import InputError
from clearway.model.verb_words import read_queue_change
from clearway.whatif.effect import effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.api.desk import Desk
    from clearway.model.asks import SetQueue, Standing
    from clearway.model.ids import JobId
    from clearway.whatif.follow import Follower

MOST_NAMED = 100

router = guarded()


@router.post("/queues/{queue}/preview")
async def preview_queue(desk: TheDesk, queue: TheQueue, request: Request) -> Response:
    """Tell who would start and who would be stopped at once if a queue had these words; nothing is changed."""
    raw = await read_json(request)
    if not isinstance(raw, dict):
        raise InputError("body", raw, "a map of the words of a queue")
    change = await run_in_threadpool(read_queue_change, queue, raw)
    return await run_in_threadpool(_preview, desk, change, request.app.state.follower)


def _preview(desk: Desk, change: SetQueue, follower: Follower) -> Response:
    with without_collecting(), follower.now() as world:
        found = effect(world, change, desk.controller.now_us())
    return answer(
        {
            "starting": len(found.starts),
            "stopping": len(found.stops),
            "starts": _named(desk, found.starts),
            "stops": _named(desk, found.stops),
            "queues": _shares(found.before, found.after),
        }
    )


def _named(desk: Desk, jobs: Sequence[JobId]) -> list[dict[str, Any]]:
    rows = ((job, desk.board.jobs.get(job)) for job in jobs[:MOST_NAMED])
    return [{"job": job, "name": row.name, "queue": row.queue} for job, row in rows if row is not None]


def _shares(before: Sequence[Standing], after: Sequence[Standing]) -> list[dict[str, Any]]:
    was = {one.name: one.share for one in before}
    return [
        {
            "name": one.name,
            "measure": one.measure,
            "share_before": _share(was.get(one.name)),
            "share_after": _share(one.share),
        }
        for one in after
    ]


def _share(thousandths: int | None) -> float | None:
    return None if thousandths is None else plain(thousandths)
