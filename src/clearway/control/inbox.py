"""Where asks of other threads wait for the loop."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from clearway.model.errors import ClearwayError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clearway.model.asks import Ask


class Letter(NamedTuple):
    """An ask, and the future that its answer goes to."""

    ask: Ask
    answer: Future[object]


class Inbox:
    """Letters in order of arrival. While it is shut, whoever asks is refused at once and nothing is kept.

    `wake` is called for each letter and each `ring`, and never once `close` has returned.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._lock = Lock()
        self._wake, self._closed = wake, False
        self._letters: deque[Letter] = deque()
        self._refusal: ClearwayError | None = None

    def put(self, ask: Ask) -> Future[object]:
        """Add an ask, and return the future of its answer."""
        letter = Letter(ask, Future())
        with self._lock:
            refusal = self._refusal
            if refusal is None:
                self._letters.append(letter)
                self._wake()
        if refusal is not None:
            answer([letter], [refusal])
        return letter.answer

    def ring(self) -> None:
        """Wake the loop without a letter."""
        with self._lock:
            if not self._closed:
                self._wake()

    def take(self) -> list[Letter]:
        """Remove and return all letters."""
        with self._lock:
            taken = list(self._letters)
            self._letters.clear()
        return taken

    def shut(self, refusal: ClearwayError) -> None:
        """Refuse what is in it and whatever comes, until `reopen`."""
        with self._lock:
            self._refusal = refusal
        waiting = self.take()
        answer(waiting, [refusal] * len(waiting))

    def close(self, refusal: ClearwayError) -> None:
        """Refuse what is in it and whatever comes, for good."""
        with self._lock:
            self._closed = True
        self.shut(refusal)

    def reopen(self) -> None:
        """Take letters again."""
        with self._lock:
            self._refusal = None

    def __bool__(self) -> bool:
        return bool(self._letters)


def answer(letters: Sequence[Letter], answers: Sequence[object]) -> None:
    """Give each letter its answer; an answer that is an error is raised by the future."""
    for letter, said in zip(letters, answers, strict=True):
        if letter.answer.done() or not letter.answer.set_running_or_notify_cancel():
            continue  # answered before, or whoever asked has gone: what was asked is done all the same
        if isinstance(said, ClearwayError):
            letter.answer.set_exception(said)
        else:
            letter.answer.set_result(said)
