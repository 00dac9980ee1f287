"""Routes of what-ifs: ask one, see those that are kept, whole and as a page, forget one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.body import read_json
from clearway.api.desk import LARGEST, TheDesk, answer
from clearway.api.moments import iso
from clearway.api.past.whatifs import KEPT
from clearway.api.roles import guarded
from clearway.api.who import noted
from clearway.whatif.words import read_asked

if TYPE_CHECKING:
    from clearway.api.past.whatifs import Whatifs

MOST_BYTES = 256 * 1024
"""The words of a what-if stand in every list of those that are kept."""

router = guarded()


async def _whatifs(request: Request) -> Whatifs:
    found: Whatifs = request.app.state.whatifs
    return found


TheWhatifs = Annotated[Any, Depends(_whatifs)]
TheNumber = Annotated[int, Path(alias="whatif", ge=1, le=LARGEST)]


@router.get("/whatifs")
def whatifs(kept: TheWhatifs) -> Response:
    """List the what-ifs that are kept or worked on, the newest first: their changes, a sentence, and a few figures."""
    return answer({"whatifs": kept.rows(), "kept": KEPT})


@router.post("/whatifs")
async def ask_whatif(desk: TheDesk, kept: TheWhatifs, request: Request) -> Response:
    """Have the past replayed as it would have gone; the answer is kept, in place of the oldest of twenty.

    The body is a map of `policy`, `fleet`, `queues`, `limits` (at least one of them), `since`, `warm_up`, `think` and
    `seed`, as the options of `clearway whatif`. It is worked out by a process beside the controller, one at a time.
    """
    raw = await read_json(request, MOST_BYTES)
    await run_in_threadpool(read_asked, raw)
    row = kept.begin(raw, desk.login, iso(desk.controller.now_us()))
    noted(whatif=row["id"])
    return answer(row, 202)


@router.get("/whatifs/{whatif}")
def whatif(kept: TheWhatifs, number: TheNumber) -> Response:
    """Show one, with its whole answer, null where there is none yet."""
    return answer({**kept.row(number), "answer": kept.answer(number)})


@router.get("/whatifs/{whatif}/page")
def page(kept: TheWhatifs, number: TheNumber) -> Response:
    """Send the answer as a page with plots that needs nothing else, to be kept as a file."""
    headers = {"Content-Disposition": f'attachment; filename="whatif-{number}.html"'}
    return Response(kept.page(number), media_type="text/html", headers=headers)


@router.post("/whatifs/{whatif}/remove")
async def remove(kept: TheWhatifs, number: TheNumber) -> Response:
    """Forget one, or stop working on it."""
    await kept.remove(number)
    noted(whatif=number)
    return answer({"id": number, "removed": True})
