from __future__ import annotations

from clearway.api.sessions import LINK_US, MOST_EACH, SESSION_US, Sessions
from clearway.api.who import Role, Who

NOW_US = 1_000_000
EVE = Who("eve", Role.viewer, via="token e", key="e", until_us=NOW_US + LINK_US // 2, root="e")
OWNER = Who("ada", Role.admin)


def _in(sessions: Sessions, who: Who, now_us: int = NOW_US) -> str:
    secret = sessions.enter(sessions.link(who, now_us), now_us)
    assert secret is not None
    return secret


def test_a_session_ends_with_the_token_that_began_it() -> None:
    sessions, end_us = Sessions(), EVE.until_us or 0
    cookie, link = _in(sessions, EVE), sessions.link(EVE, NOW_US)
    assert sessions.find(cookie, end_us - 1) is not None
    assert sessions.find(cookie, end_us) is None
    assert sessions.enter(link, end_us) is None


def test_a_session_does_not_prolong_itself_by_a_link() -> None:
    sessions, late_us = Sessions(), NOW_US + SESSION_US - 1
    first = sessions.find(_in(sessions, OWNER), late_us)
    assert first is not None
    second = _in(sessions, first.who, late_us)
    assert sessions.find(second, late_us) is not None
    assert sessions.find(second, NOW_US + SESSION_US) is None


def test_links_and_sessions_of_a_token_end_at_once_and_no_others() -> None:
    sessions = Sessions()
    cookie, link, owners = _in(sessions, EVE), sessions.link(EVE, NOW_US), _in(sessions, OWNER)
    handed = sessions.find(cookie, NOW_US)
    assert handed is not None
    second = _in(sessions, handed.who._replace(key=handed.csrf))  # as the door says of who comes by a session
    third = sessions.link(handed.who._replace(key="another"), NOW_US)
    assert len(sessions.end_of("e")) == 2
    assert sessions.find(second, NOW_US) is None
    assert sessions.enter(third, NOW_US) is None
    assert sessions.find(cookie, NOW_US) is None
    assert sessions.enter(link, NOW_US) is None
    assert sessions.find(owners, NOW_US) is not None


def test_who_makes_many_pushes_out_its_own() -> None:
    sessions = Sessions()
    owners, link, first = _in(sessions, OWNER), sessions.link(OWNER, NOW_US), _in(sessions, EVE)
    for _ in range(MOST_EACH):
        last = _in(sessions, EVE._replace(key="its session"))
        sessions.link(EVE, NOW_US)
    assert sessions.find(first, NOW_US) is None
    assert sessions.find(last, NOW_US) is not None
    assert sessions.find(owners, NOW_US) is not None
    assert sessions.enter(link, NOW_US) is not None
