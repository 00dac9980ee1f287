"""The book of calls in a real PostgreSQL server, beside the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from clearway.calls.wire import ChainSpec, GroupSpec, MapSpec
from clearway.model.errors import DeposedError
from clearway.store import schema
from clearway.store.postgres import PostgresJournal
from tests.calls.books import BAD, Desk, call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers import Server

pytestmark = [pytest.mark.slow, pytest.mark.real_engine]


@pytest.fixture(scope="module")
def url(postgres: Server) -> str:
    return postgres.make("calls")


@pytest.fixture
def journal(url: str) -> Iterator[PostgresJournal]:
    found = PostgresJournal(url)
    yield found
    found.close()


def test_calls_and_joins_come_to_their_end(journal: PostgresJournal) -> None:
    desk = Desk(journal)
    root = desk.enter(ChainSpec([GroupSpec([call(), MapSpec(0, [b"x"] * 1200)]), call()]))
    failing = desk.enter(GroupSpec([call(), call()]))
    while given := desk.take(most=400):
        desk.done(*[one for one in given if one.call != failing + 1])
        desk.done(*[one for one in given if one.call == failing + 1], problem=BAD)
    assert (desk.state(root), desk.state(failing)) == ("succeeded", "failed")
    desk.check()


def test_whoever_does_not_lead_any_more_writes_nothing(journal: PostgresJournal) -> None:
    desk = Desk(journal)
    root = desk.enter(call(), key="of the one before")
    with journal.writing() as connection:
        connection.execute(update(schema.leader).values(term=journal.term + 1))
    with pytest.raises(DeposedError):
        desk.take()
    assert desk.state(root) == "pending"
