from __future__ import annotations

import pytest

from clearway.config.tenants import (
    check_queue,
    check_tenant,
    defaults_of,
    owner_of,
    read_tenants,
    tenant_of,
)
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.job import JobSpec

FOUND = read_tenants(
    "tenants",
    [
        {"name": "vision", "users": ["ada", "bo"], "queues": ["eyes"], "defaults": {"max_retries": 3}},
        {"name": "speech", "users": ["cy"], "queues": ["ears"]},
    ],
)
PARENTS = {"left": "eyes", "eyes": "", "ears": "eyes", "free": "", "loop": "loop"}


def parent(queue: str) -> str:
    return PARENTS.get(queue, "")


@pytest.mark.parametrize(("queue", "owner"), [("left", "vision"), ("ears", "speech"), ("free", None), ("loop", None)])
def test_the_nearest_owner_upwards_has_a_queue(queue: str, owner: str | None) -> None:
    found = owner_of(FOUND, queue, parent)
    assert (found.name if found else None) == owner


def test_a_user_has_the_defaults_of_its_tenant() -> None:
    assert defaults_of(FOUND, "bo") == {"max_retries": 3, "tenant": "vision"}
    assert defaults_of(FOUND, "nobody") == {}
    assert tenant_of(FOUND, "cy") == FOUND[1]


@pytest.mark.parametrize(
    ("user", "queue"), [("ada", "eyes"), ("ada", "left"), ("ada", "free"), ("dan", "free"), ("cy", "ears")]
)
def test_own_queues_and_nobodys_are_open(user: str, queue: str) -> None:
    check_queue(FOUND, user, queue, parent, "")


@pytest.mark.parametrize(
    ("user", "queue", "said"),
    [
        ("ada", "ears", "this one belongs to tenant 'speech', and user 'ada' belongs to tenant 'vision'"),
        ("cy", "left", "tenant 'vision'"),
        ("dan", "eyes", "'dan' belongs to no tenant"),
    ],
)
def test_another_tenants_queue_is_closed(user: str, queue: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_queue(FOUND, user, queue, parent, "job j")
    check_queue((), user, queue, parent, "job j")


def test_a_job_names_no_other_tenant_than_its_users() -> None:
    check_tenant(FOUND, JobSpec("j", user="ada", tenant="vision"))
    check_tenant((), JobSpec("j", user="ada", tenant="who pays"))
    for user, tenant in (("ada", "speech"), ("ada", ""), ("dan", "vision")):
        with pytest.raises(InputError, match="the tenant of its user"):
            check_tenant(FOUND, JobSpec("j", user=user, tenant=tenant))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"name": "a"}, "a list"),
        (["a"], "a map of words"),
        ([{"users": ["ada"]}], "every tenant has a name"),
        ([{"name": "a"}, {"name": "a"}], "name: 'a' is refused: each stands once"),
        ([{"name": "a", "users": ["x"]}, {"name": "b", "users": ["x"]}], "users: 'x' is refused"),
        ([{"name": "a", "queues": ["q"]}, {"name": "b", "queues": ["q"]}], "queues: 'q' is refused"),
        ([{"name": "a", "defaults": {"priority": "high"}}], "priority"),
    ],
)
def test_bad_tenants_are_refused(raw: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_tenants("tenants", raw)


def test_an_unknown_word_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownWordError, match="did you mean 'users'"):
        read_tenants("tenants", [{"name": "a", "user": ["x"]}])
