"""What is laid under the words of every job that comes in, and what is looked at before it is entered."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.api.who import Role
from clearway.config import tenants
from clearway.model.errors import InputError, NotAllowedError
from clearway.ports.optional import lacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.api.desk import Desk
    from clearway.control import QueueRow
    from clearway.model.asks import Change
    from clearway.model.job import JobSpec

_DEEPEST = 100  # of queues; more levels than that are a circle


def defaults_for(desk: Desk, queue: object, user: object = None) -> dict[str, Any]:
    """Return the words for what a job does not say: of the nearest queue upwards that does, of its user's tenant."""
    whose = user if isinstance(user, str) else desk.login
    of_tenant = tenants.defaults_of(desk.in_force.tenants, whose)
    own = {"user": whose, "workdir": str(Path.home())}
    if desk.who.tenant:
        own["tenant"] = desk.who.tenant
    return {"right_size": desk.settings.right_size, **of_tenant, **own, **queue_defaults(desk.board.queues, queue)}


def admit(desk: Desk, job: JobSpec) -> None:
    """Raise InputError for a job that may not come in, with the reason; NotAllowedError for one of another's name."""
    desk.who.check_owns([(job.user, job.tenant)], f"job {job.name}")
    if desk.who.role < Role.operator and job.user != desk.who.name:  # its secrets would be that other one's
        raise NotAllowedError(f"job {job.name}: {desk.who.name!r} submits in no other's name than its own")
    _check_own_tenant(desk, job)
    tenants.check_tenant(desk.in_force.tenants, job)
    _check_engine(desk, job)
    _check_queue(desk, job.user, job.queue, f"job {job.name}")
    _check_priority(desk, job.user, job.queue, job.priority, f"job {job.name}")


def _check_own_tenant(desk: Desk, job: JobSpec) -> None:
    """Raise NotAllowedError where a submitter without a tenant names one: its secrets and its budget are not its own.

    Where the settings say who belongs to which tenant, they decide.
    """
    who = desk.who
    if who.role < Role.operator and job.tenant and job.tenant != who.tenant and not desk.in_force.tenants:
        raise NotAllowedError(f"job {job.name}: {who.name!r} belongs to no tenant, and submits for none")


def _check_engine(desk: Desk, job: JobSpec) -> None:
    """Raise InputError for what the engine would refuse, before it waits for that."""
    settings, place = desk.settings, f"job {job.name}"
    if (without := lacked(job, desk.lacks)) is not None:
        raise InputError(*without, place)
    if settings.uids and os.geteuid() == 0 and job.user not in dict(settings.uids):
        raise InputError("user", job.user, "a user with a uid in the setting `uids`: nobody is run as root", place)


def admit_change(desk: Desk, asked: Change) -> None:
    """Raise InputError for a job that may not have other words. NotFoundError: there is no such job."""
    row, words = desk.row(asked.job), asked.words
    queue = asked.queue if "queue" in words else row.queue
    priority = asked.priority if "priority" in words else row.priority
    if "queue" in words:
        _check_queue(desk, row.user, queue, f"job {row.name}")
    if priority > row.priority or queue != row.queue:
        _check_priority(desk, row.user, queue, priority, f"job {row.name}")


def _check_priority(desk: Desk, user: str, queue: str, priority: int, place: str) -> None:
    """Raise InputError where a submitter asks for more than is his to give: he would go before everybody."""
    if desk.who.role >= Role.operator:
        return
    tenant = tenants.tenant_of(desk.in_force.tenants, user)
    most = desk.settings.max_priority if tenant is None or tenant.max_priority is None else tenant.max_priority
    given = defaults_for(desk, queue, user).get("priority", most)
    most = max(most, given if isinstance(given, int) else most)
    if priority > most:
        raise InputError("priority", priority, f"at most {most} for a submitter here; an operator may give more", place)


def _check_queue(desk: Desk, user: str, queue: str, place: str) -> None:
    def parent(name: str) -> str:
        row = desk.board.queues.get(name)
        return "" if row is None else row.spec.parent

    tenants.check_queue(desk.in_force.tenants, user, queue, parent, place)


def queue_defaults(queues: Mapping[str, QueueRow], queue: object) -> dict[str, Any]:
    """Return the defaults of a queue: of those upwards from it, the nearest that states a word decides it."""
    found: dict[str, Any] = {}
    name = queue if isinstance(queue, str) else "default"
    for _ in range(_DEEPEST):
        row = queues.get(name)
        if row is None:
            break
        found = {**json.loads(row.spec.defaults), **found}
        name = row.spec.parent
    return found
