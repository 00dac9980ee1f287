"""What is left out of a document that somebody else is to read: by rule, not by looking whether it is a secret.

- Of each job: every value of its environment, its command line, its input and its result. None of it decides anything.
- Under a key that speaks of a secret (`token`, `password`, ..): the value, unless the key names a file.
- Of an address: user and password, and what stands behind the host.
- In free text (logs, messages): what looks like one of these, and each value that was left out elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

HIDDEN = "(redacted)"
LEAST_CHARS = 5
"""Shorter values are not looked for in texts: `1` and `true` stand everywhere."""
_SECRET_KEY = re.compile(r"token|secret|passw|credential|api[_-]?key|auth|cookie|private", re.IGNORECASE)
_OF_A_JOB = frozenset({"input", "result", "value", "words", "items"})
_MESSAGES = frozenset({"error", "errors", "text"})
_SHOWN_KEYS = frozenset({"idempotency_key"})
_NAMED = r"[\w-]*(?:token|secret|passw|api[_-]?key|credential)[\w-]*"
_PATTERNS = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"(://)[^/\s@]*@"), rf"\1{HIDDEN}@"),
    (re.compile(rf"(?i)({_NAMED}[\"']?\s*[=: ]\s*[\"']?)[^\s\"',;&]+"), rf"\1{HIDDEN}"),
    (re.compile(r"\b(?:sk|ghp|gho|hf|xox[abp]|glpat|AKIA)[-_]?[A-Za-z0-9_-]{12,}"), HIDDEN),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), HIDDEN),
)  # fmt: skip
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*://)(?:[^/\s@]*@)?([^/\s?#]*)([/?#]\S*)?", re.IGNORECASE)


class Redaction:
    """Redacts documents one after another, and remembers what it left out, to find it in texts."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        """`known` are secrets that are known as such."""
        self._hidden = {text for text in known if len(text) >= LEAST_CHARS}
        self.count = 0

    def document(self, value: Any, key: str = "") -> Any:  # noqa: ANN401 - JSON
        """Return a JSON document without what is to be left out."""
        for holds, instead in (
            (key == "env", self._environment),
            (key == "run" and isinstance(value, list), self._command),
            (key in _OF_A_JOB and isinstance(value, str), self._json_text),
            (key == "defaults" and isinstance(value, str), self._packed),
            (key in _MESSAGES, self._messages),
            (key == "facts" and isinstance(value, list), self._facts),
            (bool(key) and _speaks_of_a_secret(key), self._hide_if_said),
        ):
            if holds:
                return instead(value)
        if isinstance(value, dict):
            return {name: self.document(one, str(name)) for name, one in value.items()}
        if isinstance(value, list):
            return [self.document(one) for one in value]
        return self._address(value) if isinstance(value, str) and "://" in value else value

    def text(self, text: str) -> str:
        """Return free text without what looks like a secret, and without what was left out of documents so far."""
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        for one in sorted(self._hidden, key=len, reverse=True):
            text = text.replace(one, HIDDEN)
        return text

    def _environment(self, value: Any) -> Any:  # noqa: ANN401 - pairs, or a map
        if isinstance(value, dict):
            return {name: self._hide(one) for name, one in value.items()}
        if isinstance(value, list):
            return [[pair[0], self._hide(pair[1])] for pair in value]
        return value

    def _messages(self, value: Any) -> Any:  # noqa: ANN401 - a text, or several
        if isinstance(value, list):
            return [self._messages(one) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def _facts(self, value: list[Any]) -> list[Any]:
        return [[name, self._messages(told) if name in _MESSAGES else told] for name, told in value]

    def _hide_if_said(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        return value if value in (None, "", False, True) else self._hide(value)

    def _command(self, words: list[Any]) -> list[str]:
        """Leave out a command line, and know what follows a word that speaks of a secret."""
        for one, following in zip(words, [*words[1:], ""], strict=True):
            if _SECRET_KEY.search(str(one)):
                _, equals, said = str(one).partition("=")
                self._note([said if equals else following])
        self.count += 1
        return [HIDDEN] if words else []

    def _hide(self, value: object) -> str:
        self._note([value])
        return HIDDEN

    def _note(self, values: Iterable[object]) -> None:
        for value in values:
            self.count += 1
            if isinstance(value, str) and len(value) >= LEAST_CHARS:
                self._hidden.add(value)

    def _json_text(self, text: str) -> str:
        """Redact the texts inside a JSON text: its shape stays, since lists in it decide how many jobs there are."""
        try:
            return json.dumps(self._leaves(json.loads(text)), separators=(",", ":"))
        except ValueError:
            return HIDDEN if text else text

    def _leaves(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, dict):
            return {name: self._leaves(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._leaves(one) for one in value]
        return self._hide(value) if isinstance(value, str) else value

    def _packed(self, text: str) -> str:
        """Redact a queue's defaults: job words as JSON, which JSON holds as base64."""
        try:
            words = json.loads(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError):
            return base64.b64encode(b"{}").decode()
        return base64.b64encode(json.dumps(self.document(words)).encode()).decode()

    def _address(self, text: str) -> str:
        def shorter(found: re.Match[str]) -> str:
            return found[1] + found[2] + (f"/{HIDDEN}" if len(found[3] or "") > 1 else found[3] or "")

        return _ADDRESS.sub(shorter, text)


def _speaks_of_a_secret(key: str) -> bool:
    return _SECRET_KEY.search(key) is not None and not key.endswith("_file") and key not in _SHOWN_KEYS
