"""Problems, tokens, sessions, and who changed what."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from clearway.api.forms.base import Form, Moment, Words, says


class Problem(Form):
    """What went wrong (RFC 9457)."""

    type: Annotated[str, says("about:blank")]
    title: Annotated[str, says("the kind of problem in a word or two")]
    status: Annotated[int, says("the status of the answer")]
    detail: Annotated[str, says("a sentence")]
    field: Annotated[str | UnsetType, says("the field whose value is refused")] = UNSET
    value: Annotated[str | UnsetType, says("the value, as it was sent")] = UNSET
    rule: Annotated[str | UnsetType, says("what it has to be")] = UNSET
    place: Annotated[str | UnsetType, says("where that was: body, query, job 3, ..")] = UNSET
    retry_after_s: Annotated[float | UnsetType, says("so many seconds later there may be room")] = UNSET


class JobWords(msgspec.Struct):
    """Jobs, each by the words of docs/job.md."""

    jobs: list[Words]


class TokenWords(msgspec.Struct, omit_defaults=True):
    """The words of a token."""

    user: str
    role: str
    tenant: str | None = None
    expires: str | float | None = None
    scopes: list[str] | None = None


class Token(Form):
    """A token without its secret."""

    id: Annotated[str, says("its number")]
    user: Annotated[str, says("who shows it")]
    role: Annotated[str, says("viewer, submitter, operator or admin")]
    tenant: Annotated[str | None, says("a submitter changes work of this tenant only; null: only of the user")]
    scopes: Annotated[list[str], says("only these nouns of the API; none: all")]
    created: Annotated[Moment, says("when it was made")]
    expires: Annotated[Moment | None, says("until when it is good; null: until it is revoked")]
    by: Annotated[str, says("who made it")]


class NewToken(Token):
    """A token with its secret."""

    token: Annotated[str, says("the secret, told this once")]


class Tokens(Form):
    """All tokens."""

    tokens: Annotated[list[Token], says("in the order in which they were made")]


class Session(Form):
    """Who one is."""

    name: Annotated[str, says("the user")]
    role: Annotated[str, says("viewer, submitter, operator or admin")]
    tenant: Annotated[str | None, says("the tenant whose work a submitter may change")]
    via: Annotated[str, says("socket, token, session, oidc, ..")]
    scopes: Annotated[list[str], says("only these nouns of the API; none: all")]
    csrf: Annotated[str | None, says("of a browser: what its changes must show as `X-CSRF-Token`")]


class SessionEnded(Form):
    """Whether a session was ended."""

    ended: Annotated[bool, says("there was one")]


class Link(Form):
    """A link that is good once."""

    url: Annotated[str, says("the link")]
    until: Annotated[Moment, says("until when it is good")]


class Change(Form):
    """Who changed what."""

    at: Annotated[Moment, says("when")]
    who: Annotated[str, says("the user")]
    role: Annotated[str, says("the role that was shown")]
    via: Annotated[str, says("socket, token, session, oidc, ..")]
    address: Annotated[str | None, says("from which address")]
    method: Annotated[str, says("the request's method")]
    path: Annotated[str, says("the request's path")]
    status: Annotated[int, says("the status of the answer: done, or refused")]
    about: Annotated[Words, says("what it was about: numbers of jobs, names, ..")]


class Changes(Form):
    """Changes."""

    changes: Annotated[list[Change], says("the newest first")]


class Described(msgspec.Struct):
    """An OpenAPI document: see spec.openapis.org for the rest."""

    openapi: Annotated[str, says("version of OpenAPI")]
    info: Annotated[Words, says("title and version of this API")]
    paths: Annotated[dict[str, Any], says("by path and method: what a route takes and answers")]
    components: Annotated[dict[str, Any], says("forms by name")]
