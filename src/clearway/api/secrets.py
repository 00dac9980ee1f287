"""Routes of secrets: they are set, listed by name and removed. No route ever answers with a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import unquote

from fastapi import Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from clearway.api.body import read_bytes
from clearway.api.desk import TheDesk, answer
from clearway.api.roles import guarded
from clearway.api.who import WHO, Role
from clearway.compose.stores import engine_home
from clearway.config import secrets
from clearway.model.errors import InputError, NotAllowedError

if TYPE_CHECKING:
    from clearway.api.desk import Desk

router = guarded()


class Owner(NamedTuple):
    """Whose secrets are meant."""

    kind: str
    name: str


async def _owner(desk: TheDesk, user: str | None = None, tenant: str | None = None) -> Owner:
    if user and tenant:
        raise InputError("user", user, "either a user or a tenant", "query")
    owner = Owner(secrets.TENANT, tenant) if tenant else Owner(secrets.USER, user or desk.login)
    who = WHO.get()
    if who.role < Role.operator and owner.name != (who.tenant if owner.kind == secrets.TENANT else who.name):
        raise NotAllowedError(f"the secrets of {owner.kind} {owner.name!r} are not those of {who.name!r}")
    return owner


async def _name(request: Request) -> str:
    return unquote(str(request.path_params["secret"]), errors="replace")


TheOwner = Annotated[Owner, Depends(_owner)]
TheName = Annotated[str, Depends(_name)]


@router.get("/secrets")
def names(desk: TheDesk, owner: TheOwner) -> Response:
    """List the names of the secrets of a user (you, where none is said) or a tenant."""
    found = secrets.names(engine_home(desk.settings), *owner)
    return answer({"secrets": [_row(owner, name) for name in found]})


@router.put("/secrets/{secret}")
async def put(desk: TheDesk, owner: TheOwner, name: TheName, request: Request) -> Response:
    """Keep the bytes that are sent as a secret, in place of an earlier value."""
    value = await read_bytes(request, request.app.state.body_limit)
    await run_in_threadpool(secrets.put, engine_home(desk.settings), *owner, name, value)
    return answer(_row(owner, name))


@router.post("/secrets/{secret}/remove")
def remove(desk: TheDesk, owner: TheOwner, name: TheName) -> Response:
    """Forget a secret. What runs keeps what it was given."""
    secrets.remove(engine_home(desk.settings), *owner, name)
    return answer(_row(owner, name))


def _row(owner: Owner, name: str) -> dict[str, Any]:
    return {"name": name, owner.kind: owner.name}


def check_secrets(desk: Desk, names: tuple[str, ...], user: str, tenant: str) -> None:
    """Raise InputError where a job names a secret that is not set."""
    secrets.check(engine_home(desk.settings), names, user, tenant)
