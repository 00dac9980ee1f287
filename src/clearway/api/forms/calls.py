"""Calls, and what is kept for jobs: values, code, secrets."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from clearway.api.forms.base import Form, Moment, Reason, says


class Call(Form):
    """A call, chain or group."""

    id: Annotated[int, says("its number")]
    name: Annotated[str, says("the function's name, or one that was given")]
    kind: Annotated[str, says("call, map, chain, group or chord")]
    state: Annotated[str, says("pending, running, succeeded, failed or cancelled")]
    root: Annotated[int, says("number of the whole that it is part of; its own where it is none")]
    parts: Annotated[int, says("how many parts it has")]
    over: Annotated[int, says("how many of these are over")]
    failed: Annotated[int, says("how many of these failed")]
    attempt: Annotated[int, says("how often it was handed to a worker")]
    failures: Annotated[int, says("attempts that failed by themselves")]
    losses: Annotated[int, says("attempts whose worker was lost")]
    job: Annotated[int | None, says("number of the job that is the worker which has, or had, it")]
    entered: Annotated[Moment | None, says("when it was entered")]
    started: Annotated[Moment | None, says("when its latest attempt started")]
    ended: Annotated[Moment | None, says("when it was over")]
    took_s: Annotated[float | None, says("seconds that the function ran")]
    problem: Annotated[str | None, says("kind and message of the error with which it failed")]


class Calls(Form):
    """Calls as they were entered."""

    calls: Annotated[list[Call], says("the newest first")]


class CallWhy(Form):
    """Why a call waits, runs or ended."""

    state: Annotated[str, says("its state")]
    text: Annotated[str, says("a sentence")]
    before: Annotated[int, says("how many calls like it come before it")]
    workers: Annotated[int, says("how many workers work on such calls")]
    waits_for_job: Annotated[int | None, says("number of the job that is to be its worker and waits for a place")]
    reasons: Annotated[list[Reason], says("why that job waits")]
    expected_end: Annotated[Moment | None, says("when it is expected to be over; null: not known")]


class CallNumber(Form):
    """A call that was cancelled."""

    id: Annotated[int, says("its number")]


class Actor(Form):
    """An actor that was ended."""

    actor: Annotated[str, says("its key")]


class File(Form):
    """A value that is kept."""

    name: Annotated[str, says("its name")]
    size: Annotated[int, says("bytes")]


class Code(Form):
    """Code that jobs take along."""

    code: Annotated[str, says("sha256: and its digest")]
    size: Annotated[int, says("bytes")]


class Secret(Form):
    """A secret without its value."""

    name: Annotated[str, says("its name")]
    user: Annotated[str | UnsetType, says("whose it is")] = UNSET
    tenant: Annotated[str | UnsetType, says("or which tenant's")] = UNSET


class Secrets(Form):
    """Secrets of a user or a tenant."""

    secrets: Annotated[list[Secret], says("by name")]
