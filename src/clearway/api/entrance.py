"""Routes of access: tokens, links for browsers, who one is, and who changed what; and the description of all routes."""

from __future__ import annotations

from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.access import COOKIE, OWNERS
from clearway.api.body import read_json
from clearway.api.description import describe
from clearway.api.desk import TheDesk, answer
from clearway.api.events import TRANSPORT
from clearway.api.moments import iso, iso_or_none
from clearway.api.past.questions import moment_ago
from clearway.api.problems import HttpFault
from clearway.api.refusal import html, refusal
from clearway.api.roles import API, NEEDED, guarded
from clearway.api.sessions import LINK_US, SESSION_US
from clearway.api.tokens import Token, role_of
from clearway.api.who import WHO, noted
from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.values import SECOND_US
from clearway.model.words import Word, read_words

if TYPE_CHECKING:
    from clearway.api.desk import Desk
    from clearway.api.doors import Doors

router = guarded()
page = guarded("")
"""Outside of the API: where a browser comes in."""

NOUNS = tuple(sorted({key.split(" ")[1].removeprefix(API).strip("/").partition("/")[0] for key in NEEDED}))
TOKEN_WORDS = {
    "user": Word(v.name, "text", "who shows it"),
    "role": Word(lambda field, value: role_of(field, value).name, "text", "viewer, submitter, operator or admin"),
    "tenant": Word(v.name, "text", "a submitter changes work of this tenant only; without it only of the user"),
    "expires": Word(v.duration, "duration", "how long it is good"),
    "scopes": Word(v.names, "names", "only these nouns of the API: jobs, metrics, .."),
}
TheCode = Annotated[str, Query(max_length=100)]
_USED = HttpFault(401, "not allowed", "This link was used, or is too old.", {"WWW-Authenticate": "Bearer"})
_ASKS = """<p>This link lets you in as <strong>{name}</strong>, with the role {role}. It was made by {made}.</p>
<p>Only go on if you asked for it yourself: what you do then is done in that name.</p>
<form method="post" action="/enter?code={code}"><button>Come in as {name}</button></form>"""
_ENTERED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>Clearway</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml"></head>
<body><p><a href="/">Clearway</a></p></body></html>
"""


def _doors(request: Request) -> Doors:
    found: Doors = request.app.state.doors
    return found


TheDoors = Annotated[Any, Depends(_doors)]


def token_row(token: Token) -> dict[str, Any]:
    """Return what may be told of a token."""
    return {
        "id": token.id, "user": token.user, "role": token.role, "tenant": token.tenant or None,
        "scopes": list(token.scopes), "created": iso(token.created_us), "expires": iso_or_none(token.expires_us),
        "by": token.by,
    }  # fmt: skip


@router.get("/tokens")
def tokens(desk: TheDesk, doors: TheDoors) -> Response:
    """List tokens, without their secrets."""
    del desk
    return answer({"tokens": [token_row(token) for token in doors.tokens.all()]})


@router.post("/tokens")
async def make_token(desk: TheDesk, doors: TheDoors, request: Request) -> Response:
    """Make a token: the body is a map of its words. The answer has its secret, which is told this once."""
    given = read_words("body", await read_json(request), TOKEN_WORDS)
    for word in ("user", "role"):
        if word not in given:
            raise InputError(word, None, "every token has one")
    for scope in set(given.get("scopes", ())) - {*NOUNS}:
        raise InputError("scopes", scope, "one of " + ", ".join(NOUNS))
    now_us = desk.controller.now_us()
    expires_us = now_us + given["expires"] if "expires" in given else None
    scopes, tenant = tuple(given.get("scopes", ())), given.get("tenant", "")
    token = Token("", "", given["user"], given["role"], tenant, now_us, expires_us, scopes, desk.login)
    secret = await run_in_threadpool(doors.tokens.add, token)
    made = doors.tokens.find(secret, now_us)
    row = token_row(made or token)
    noted(token=row["id"], user=token.user, role=token.role)
    return answer({**row, "token": secret}, HTTPStatus.CREATED)


@router.post("/tokens/{token}/revoke")
async def revoke(desk: TheDesk, doors: TheDoors, request: Request) -> Response:
    """Have a token open nothing any more; what is being answered to it is cut off."""
    del desk
    gone = await run_in_threadpool(doors.tokens.revoke, str(request.path_params["token"]))
    doors.under_way.end([gone.id, *doors.sessions.end_of(gone.id)], request.scope["state"][TRANSPORT])
    noted(token=gone.id, user=gone.user)
    return answer(token_row(gone))


@router.post("/links")
async def make_link(desk: TheDesk, doors: TheDoors) -> Response:
    """Make a link that opens the page once, within two minutes, as whoever asks. Listens on loopback if need be."""
    base = await desk.window()
    now_us = desk.controller.now_us()
    code = doors.sessions.link(WHO.get(), now_us)
    return answer({"url": f"{base}/enter?code={code}", "until": iso(now_us + LINK_US)}, HTTPStatus.CREATED)


@page.get("/enter")
async def enter(request: Request, desk: TheDesk, doors: TheDoors, code: TheCode = "") -> Response:
    """Begin a session for the code of a link, which is good once: at once by a link of the owner's.

    Anybody else's link asks first, and is used when the person says so: else who is led to a stranger's link would
    work as that stranger without knowing, and what looks at links before people do would use them up.
    """
    who = doors.sessions.behind(code, desk.controller.now_us())
    if who is None:
        return refusal(request.scope, _USED)
    if who.via in OWNERS:
        return _entered(request, desk, doors, code)
    text = _ASKS.format(name=escape(who.name), role=who.role.name, made=escape(who.via), code=quote(code))
    return html("Come in?", text)


@page.post("/enter")
async def come_in(request: Request, desk: TheDesk, doors: TheDoors, code: TheCode = "") -> Response:
    """Begin a session for the code of a link, as the page that `GET /enter` showed asks for."""
    if doors.sessions.behind(code, desk.controller.now_us()) is None:
        return refusal(request.scope, _USED)
    if not doors.is_own_page(request.scope, dict(request.scope["headers"])):
        raise HttpFault(403, "forbidden", "one comes in from the page itself: the Origin is another one")
    return _entered(request, desk, doors, code)


def _entered(request: Request, desk: Desk, doors: Doors, code: str) -> Response:
    secret = doors.sessions.enter(code, desk.controller.now_us())
    if secret is None:  # somebody else has used it in this very moment
        return refusal(request.scope, _USED)
    told = Response(_ENTERED, media_type="text/html", headers={"Cache-Control": "no-store"})
    secure = doors.scheme(request.scope, dict(request.scope["headers"])) == "https"
    age = SESSION_US // SECOND_US
    told.set_cookie(COOKIE, secret, max_age=age, path="/", httponly=True, samesite="strict", secure=secure)
    return told


@router.get("/session")
async def session(desk: TheDesk, doors: TheDoors, request: Request) -> Response:
    """Say who one is, with what role; of a browser also what its changes must show as `X-CSRF-Token`."""
    del desk
    who, own = WHO.get(), doors.session(request.cookies.get(COOKIE, ""))
    csrf = own.csrf if own is not None and who.via == "session" else None
    return answer(
        {
            "name": who.name, "role": who.role.name, "tenant": who.tenant or None, "via": who.via,
            "scopes": sorted(who.scopes), "csrf": csrf,
        }
    )  # fmt: skip


@router.post("/session/end")
async def end_session(desk: TheDesk, doors: TheDoors, request: Request) -> Response:
    """End the session of this browser."""
    del desk
    own = doors.session(request.cookies.get(COOKIE, ""))
    if own is not None:
        doors.sessions.end(own.csrf)
        doors.under_way.end([own.csrf], request.scope["state"][TRANSPORT])
    return answer({"ended": own is not None})


@router.get("/changes")
def changes(
    desk: TheDesk,
    doors: TheDoors,
    who: str | None = None,
    since: Annotated[str | None, Query(description="From this moment in ISO 8601 on, or so long ago: 2d")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Tell who changed what, from where and when, the newest first; also what was refused to somebody known."""
    since_us = None if since is None else moment_ago("since", since, desk.controller.now_us())
    found = []
    for line in doors.trail.newest():
        if since_us is not None and v.instant("at", line["at"]) < since_us:
            break
        if who is None or line["who"] == who:
            found.append(line)
        if len(found) == limit:
            break
    return answer({"changes": found})


@router.get("/openapi.json")
def description(desk: TheDesk, request: Request) -> Response:
    """Describe all routes, in OpenAPI 3.1."""
    del desk
    return answer(describe(request.app))
