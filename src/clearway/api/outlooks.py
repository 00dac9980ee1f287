"""Routes that answer from a world beside the one in charge: how things stand for a job, and advice before a submit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.body import read_json
from clearway.api.desk import TheDesk, TheJob, answer
from clearway.api.entry import read_jobs
from clearway.api.moments import FACE
from clearway.api.roles import guarded
from clearway.control.snapshots import without_collecting
from clearway.model.errors import InputError
from clearway.observe.outlook_rows import outlook_row
from clearway.whatif.outlook import advise, outlook

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.whatif.follow import Follower

router = guarded()
MOST_ADVISED = 100
"""Jobs of which one question may be: each is looked at in a world of its own."""
PATIENCE_S = 3.0
"""So long is looked ahead and changes are tried for one question; what was found by then is told.

Python does not look for garbage meanwhile: a world and its copies are so many objects, none of them garbage, that the
deciding loop would stand still for seconds.
"""


def _patience(begins_s: float = 0) -> Callable[[], bool]:
    end_s = time.monotonic() + begins_s + PATIENCE_S
    return lambda: time.monotonic() < end_s


@router.get("/jobs/{ref}/outlook")
def job_outlook(desk: TheDesk, job: TheJob, request: Request) -> Response:
    """Tell what a waiting job lacks, what would let it start at once, and when it is expected to start."""
    follower: Follower = request.app.state.follower
    with without_collecting(), follower.now() as world:
        found = outlook(world, job, desk.controller.now_us(), _patience(), _patience(PATIENCE_S))
    return answer({"id": job, **outlook_row(found, FACE)})


@router.post("/advice")
async def advice(desk: TheDesk, request: Request) -> Response:
    """Tell how things would stand for jobs if they were submitted now; the body is that of a submit."""
    raw = await read_json(request)
    return await run_in_threadpool(_advice, desk, raw, request.app.state.follower)


def _advice(desk: TheDesk, raw: object, follower: Follower) -> Response:
    specs = read_jobs(desk, raw, to_run=False)
    if len(specs) > MOST_ADVISED:
        raise InputError("jobs", len(specs), f"at most {MOST_ADVISED} jobs in one question", "body")
    with without_collecting(), follower.now() as world:
        found = advise(world, specs, desk.controller.now_us(), _patience(), _patience(PATIENCE_S))
    rows = [{"name": spec.name, **outlook_row(one, FACE)} for spec, one in zip(specs, found, strict=True)]
    return answer({"jobs": rows})
