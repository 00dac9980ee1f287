"""What a browser is shown that may not come in: a page for a person, where a program gets a problem document.

It loads nothing: what it would load needs somebody who is in.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, Response

from clearway.api.problems import problem
from clearway.api.roles import API

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Scope

    from clearway.api.problems import HttpFault

UNKNOWN = 401
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Clearway: {title}</title></head>
<body><main><h1>{title}</h1>
{text}
</main></body></html>
"""
_HOW = """<p>This page opens by a link that is good once, for two minutes. In a terminal of the machine on which the
controller runs, or with <code>CLEARWAY_URL</code> and <code>CLEARWAY_TOKEN_FILE</code> set wherever Clearway is
installed, ask for one:</p>
<pre><code>clearway dashboard</code></pre>
<p>It prints the link, and opens it in a browser where there is one. What it begins lasts twelve hours, and ends when
the controller does: then ask for a new one. Whoever has no token yet gets one from an admin, by
<code>clearway token create</code>.</p>"""


def refusal(scope: Scope, fault: HttpFault) -> Response:
    """Return the answer to a request that is not let in."""
    if not _is_browser(scope):
        return problem(fault.status, fault.title, fault.detail, fault.headers)
    how = _HOW if fault.status == UNKNOWN else ""
    title = "You are not in" if fault.status == UNKNOWN else "This is not answered"
    return html(title, f"<p>{escape(fault.detail)}</p>\n{how}", fault.status, fault.headers)


def html(title: str, text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a page; `text` is HTML already."""
    told = {**(headers or {}), "Cache-Control": "no-store"}
    return HTMLResponse(_PAGE.format(title=escape(title), text=text), status, told)


def _is_browser(scope: Scope) -> bool:
    """Whether a person opened a page: a program asks for no HTML, nor does anybody of the API."""
    if scope["method"] not in ("GET", "POST") or scope["path"].startswith(API):
        return False
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return b"text/html" in accepted.lower()
