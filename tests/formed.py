"""Every JSON answer that a test gets is read by the form that the description of the API gives it: no field is missing,
none is of another type, none is undocumented.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from clearway.api.answers import ANSWERS
from clearway.api.roles import API, NEEDED, OPEN
from clearway.sdk.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def _pattern(key: str) -> re.Pattern[str]:
    """Return what matches method and path of a route; words that are said go before names."""
    return re.compile(
        "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"({\w+})", key))
    )


_ROUTES = [(_pattern(key), key) for key in sorted({*NEEDED, *OPEN}, key=lambda key: (key.count("{"), key))]


def check_form(method: str, path: str, told: object) -> None:
    """Read an answer that went well by its form. AssertionError: it is another one."""
    key = next((key for pattern, key in _ROUTES if pattern.fullmatch(f"{method} {path}")), None)
    if key not in ANSWERS:
        return
    try:
        msgspec.convert(told, ANSWERS[key])
    except msgspec.ValidationError as error:
        raise AssertionError(f"{method} {path} answers otherwise than described: {error}") from error


def check_answer(status: int, method: str, path: str, told: object) -> None:
    """Read an answer by its form where it went well and is JSON."""
    if status < HTTPStatus.MULTIPLE_CHOICES and isinstance(told, dict | list):
        check_form(method, path.partition("?")[0], told)


@pytest.fixture(scope="session", autouse=True)
def _formed() -> Iterator[None]:
    """Have every answer that a client gets read by its form."""
    call = Transport._call  # the one place through which every JSON answer goes

    def checked(self: Transport, method: str, path: str, query: Mapping[str, object] | None, body: bytes | None) -> Any:
        told = call(self, method, path, query, body)
        if told is not None:
            check_form(method, f"{API}/{path}", told)
        return told

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transport, "_call", checked)
        yield
