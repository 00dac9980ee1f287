"""Routes of policies: the one in force, one that is tried beside it, promoted, and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.body import read_json, read_json_or
from clearway.api.desk import TheDesk, answer
from clearway.api.moments import iso
from clearway.api.policy_rows import policy_row
from clearway.api.roles import guarded
from clearway.api.who import Role, noted
from clearway.model import values as v
from clearway.model.errors import InputError, NotAllowedError
from clearway.model.policies import EndShadow, Promote, Rollback, SetShadow
from clearway.model.words import Word, read_words
from clearway.policies.registry import BUNDLES, ORDERS
from clearway.whatif.words import policy_word

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.observe.pace import Minute

SHADOW_WORDS: dict[str, Word] = {
    "policy": Word(policy_word, "nested", "the policy that is tried"),
    "name": Word(v.name, "text", "what it is called"),
}
PROMOTE_WORDS: dict[str, Word] = {
    "bound": Word(v.count, "number", "a tenant may wait so many percent longer"),
    "least": Word(v.duration, "text", "and so much longer at least"),
    "jobs": Word(v.count, "number", "found of so many of its jobs at least"),
    "for": Word(v.duration, "text", "the guard looks so long"),
}
_FIELDS = {"bound": "percent", "least": "least_us", "jobs": "jobs", "for": "for_us"}

router = guarded()


@router.get("/policy")
def policy(desk: TheDesk) -> Response:
    """Show the policy in force and why it is, what is tried beside it, the last changes, and how long it decides.

    `known` are the names of bundles and orders. `decisions`: of the last two hours in which something was decided, and
    of each of their minutes. `candidate` decides beside it; `before` is what a rollback puts in force again.
    """
    return answer({**_row(desk), "decisions": _pace(desk), "known": sorted({*BUNDLES, *ORDERS})})


def _row(desk: Desk) -> dict[str, Any]:
    return policy_row(desk.board.policy, desk.controller.world.state.policies, desk.shadowing.blind())


@router.get("/policy/comparison")
def comparison(desk: TheDesk) -> Response:
    """Tell what came of the candidate so far beside the policy in force, for the same jobs; `reason`: why nothing does.

    Waits count from the submit, or from the moment at which the candidate was set where that was later.
    """
    return answer(desk.shadowing.row())


@router.post("/policy/shadow")
async def set_shadow(desk: TheDesk, request: Request) -> Response:
    """Have a policy decide beside the one in force, on the same events and without acting.

    The body is a map of `policy`, by name or as a map of words, and what it is to be called (`name`).
    """
    found = await run_in_threadpool(read_words, "shadow", await read_json(request), SHADOW_WORDS)
    if "policy" not in found:
        raise InputError("policy", None, "the policy that is tried: a name, or a map of words", "shadow")
    called, spec = found["policy"]
    name = found.get("name", called)
    await desk.ask(SetShadow(name, spec, desk.login))
    noted(policy=name)
    return answer(_row(desk))


@router.post("/policy/shadow/end")
async def end_shadow(desk: TheDesk) -> Response:
    """Have none decide beside the one in force any more; a guard ends with it, where an admin says so."""
    if desk.who.role < Role.admin and desk.controller.world.state.policies.guard is not None:
        raise NotAllowedError("the guard of a promotion goes by it: an admin may end that")
    await desk.ask(EndShadow(desk.login))
    return answer(_row(desk))


@router.post("/policy/promote")
async def promote(desk: TheDesk, request: Request) -> Response:
    """Put the candidate in force. A guard takes it back by itself where a tenant waits too much longer under it.

    The body is a map of `bound` (percent), `least`, `jobs` and `for`, or nothing: 20, 60s, 20 and 7d.
    """
    given = await read_json_or(request, {})
    found = await run_in_threadpool(read_words, "promote", given, PROMOTE_WORDS)
    await desk.ask(Promote(by=desk.login, **{_FIELDS[word]: value for word, value in found.items()}))
    row = _row(desk)
    noted(policy=row["called"], guard=row["guard"])
    return answer(row)


@router.post("/policy/rollback")
async def rollback(desk: TheDesk) -> Response:
    """Put the policy before the last promotion in force again."""
    await desk.ask(Rollback(desk.login))
    row = _row(desk)
    noted(policy=row["called"])
    return answer(row)


def _pace(desk: Desk) -> dict[str, Any] | None:
    pace = desk.metrics.meter.pace
    whole = pace.whole()
    if whole is None:
        return None
    minutes = [{"at": iso(one.at_us), **_times(one)} for one in pace.minutes()]
    return {**_times(whole), "since": iso(whole.at_us), "minutes": minutes}


def _times(minute: Minute) -> dict[str, Any]:
    return {"turns": minute.turns, "median_ms": minute.median_ms, "p99_ms": minute.p99_ms}
