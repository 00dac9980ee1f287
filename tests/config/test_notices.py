from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clearway.config.notices import KINDS, MAIL_WORDS, USUAL, WEBHOOK_WORDS, Mail, Webhook, read_notices
from clearway.config.telemetry import TELEMETRY_WORDS
from clearway.model.errors import InputError

HOOK = {"webhook": "https://hooks.example/x", "secret_file": "/etc/secret"}
MAIL = {"mail": ["a@example.org"], "server": "smtp.example.org", "from": "clearway@example.org"}


def test_what_is_said_is_read() -> None:
    hook, mail = read_notices("notices", [{**HOOK, "on": ["failed", "waste"], "queues": ["research"]}, MAIL])
    assert hook == Webhook("https://hooks.example/x", Path("/etc/secret"), ("failed", "waste"), ("research",))
    assert mail == Mail(("smtp.example.org", 587), "clearway@example.org", ("a@example.org",))
    assert mail.on == USUAL
    assert set(USUAL) <= set(KINDS)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("x", "notices"),
        ([5], "notices"),
        ([{}], "notices"),
        ([{**HOOK, **MAIL}], "notices"),
        ([{"webhook": "ftp://x", "secret_file": "/s"}], "webhook"),
        ([{"webhook": "https://me:pw@x/", "secret_file": "/s"}], "webhook"),
        ([{"webhook": "https://x:99999/", "secret_file": "/s"}], "webhook"),
        ([{"webhook": "https://x/"}], "secret_file"),
        ([{**HOOK, "secret_file": "here"}], "secret_file"),
        ([{**HOOK, "on": ["fail"]}], "on"),
        ([{**HOOK, "secret": "x"}], "secret"),
        ([{**MAIL, "mail": []}], "mail"),
        ([{**MAIL, "mail": ["a@b\nBcc: x@y"]}], "mail"),
        ([{**MAIL, "from": "clearway"}], "from"),
        ([{**MAIL, "server": "x:0"}], "server"),
        ([{**MAIL, "user": "me"}], "user"),
        ([{**MAIL, "user": "me", "password_file": "/p", "tls": "none"}], "tls"),
        ([{**MAIL, "tls": "ssl"}], "tls"),
    ],
)
def test_what_is_wrong_is_refused_by_its_word(said: Any, field: str) -> None:
    with pytest.raises(InputError) as raised:
        read_notices("notices", said)
    assert raised.value.field == field
    assert ":pw@" not in str(raised.value)


def test_the_page_explains_every_word_and_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "notices.md").read_text()
    words = {*KINDS, *WEBHOOK_WORDS, *MAIL_WORDS}
    assert [word for word in sorted(words) if f"`{word}`" not in page] == []
    traces = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
    assert [word for word in TELEMETRY_WORDS if f"`{word}`" not in traces] == []
