"""Every error that Clearway raises, in one tree.

ClearwayError
├── InputError            a value from outside breaks a rule: field, value, rule, place
│   ├── UnknownWordError  a key that no schema knows: names the key, the place and the nearest word
│   └── NotYetError       a word that is known, but that this version does not carry out
├── NotFoundError         nothing has this name or number
├── NotAllowedError       whoever asks may not do this
├── ConflictError         the request contradicts what is already there
├── FullError            there is no room for more now: sent again later it may be taken
├── LedgerError           the books do not add up (a defect of ours, never of a user)
├── EngineError           an engine could not do what it was told
├── StoreError            the journal could not be read or written
│   └── DeposedError      another controller leads: this one may write nothing any more
├── FlowError             a workflow, or a search, that Python waits for did not succeed
│   └── LoopLimitError    a loop of it made as many passes as it may, and did not come to an end
├── CallError             a call of a task did not succeed, and there is no exception of its own to raise
│   ├── CallCancelledError  it was cancelled
│   ├── ActorDiedError      the actor whose method it is has ended
│   ├── CallTimedOutError   it took longer than its time limit
│   └── WorkerLostError     its workers were lost, or none can be had
└── ControllerError       the controller cannot be reached, or cannot be started
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from clearway.model.habits import SCENARIO, same

if TYPE_CHECKING:
    from collections.abc import Iterable

_IN_FILES = {None: "null", True: "true", False: "false"}
SHOWN_VALUE_CHARS = 80  # a value in a message is cut here: enough to recognise it, short enough to read


class ClearwayError(Exception):
    """Root of all errors that Clearway raises on purpose."""


class InputError(ClearwayError):
    """A value breaks a rule. `field` is the word, `rule` what holds for it, `place` where it stood."""

    def __init__(self, field: str, value: object, rule: str, place: str = "") -> None:
        """Keep the parts, so that shells can show them apart from the sentence."""
        self.field, self.value, self.rule, self.place = field, shown(value), rule, place
        where = f" ({place})" if place else ""
        super().__init__(f"{field}: {self.value} is refused: {rule}{where}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str, str]]:
        """Build it again from its parts in another process."""
        return type(self), (self.field, _Shown(self.value), self.rule, self.place)

    def at(self, place: str) -> InputError:
        """Return the same error with the place at which the value stood."""
        return type(self)(self.field, _Shown(self.value), self.rule, place)


class UnknownWordError(InputError):
    """A key that the schema does not know."""

    @classmethod
    def of(cls, key: object, known: Iterable[str], place: str) -> UnknownWordError:
        """Build the error for `key`, naming the known word that other systems call so, or else the nearest one."""
        plain, at_hand = key[:SHOWN_VALUE_CHARS] if isinstance(key, str) else shown(key), list(known)
        if plain in SCENARIO:
            rule = "a word of scenarios (clearway simulate, clearway test); what runs on a controller has `run`"
            return cls(plain, _Shown("this key"), rule, place)
        ours = same(plain, at_hand)
        near = [ours] if ours else get_close_matches(plain, at_hand, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return cls(plain, _Shown("this key"), f"no such word{hint}", place)

    @classmethod
    def instead(cls, key: str, way: str, place: str) -> UnknownWordError:
        """Build the error for a word of another system, with how it is done here."""
        return cls(key, _Shown("this key"), f"no such word; {way}", place)


class NotYetError(InputError):
    """A word is known, but this version does not carry it out. It is refused rather than ignored."""

    @classmethod
    def of(cls, word: str, value: object, place: str = "") -> NotYetError:
        """Build the error for a word."""
        return cls(word, value, "this version does not carry out this word yet", place)


class NotFoundError(ClearwayError):
    """Nothing has this name or number."""


class NotAllowedError(ClearwayError):
    """Whoever asks may not do this."""


class ConflictError(ClearwayError):
    """The request contradicts what is already there."""


class FullError(ClearwayError):
    """There is no room for more now. Sent again after `after_s` seconds it may be taken."""

    def __init__(self, told: str, after_s: int = 1) -> None:
        """Keep how long to wait."""
        self.after_s = after_s
        super().__init__(told, after_s)

    def __str__(self) -> str:
        """Return the sentence."""
        return str(self.args[0])


class LedgerError(ClearwayError):
    """The books do not add up."""


class EngineError(ClearwayError):
    """An engine could not do what it was told."""


class StoreError(ClearwayError):
    """The journal could not be read or written."""


class DeposedError(StoreError):
    """Another controller has taken the lead."""


class ControllerError(ClearwayError):
    """The controller cannot be reached or cannot be started."""


class FlowError(ClearwayError):
    """A workflow or a search did not succeed."""


class LoopLimitError(FlowError):
    """A loop made as many passes as it may, and did not come to an end."""


class CallError(ClearwayError):
    """A call of a task did not succeed. What it raised cannot be made here again: the message tells of it."""


class CallCancelledError(CallError):
    """A call was cancelled."""


class ActorDiedError(CallError):
    """The actor whose method was called has ended, and is not started again."""


class CallTimedOutError(CallError):
    """A call took longer than its time limit."""


class WorkerLostError(CallError):
    """The workers of a call were lost, or none can be had."""


class _Shown(str):
    """A text that is shown as it is, without quotes."""

    __slots__ = ()


def shown(value: object) -> str:
    """Return `value` as a message shows it: as files write it, quoted if it is text, cut if it is long."""
    if value is None or isinstance(value, bool):
        return _IN_FILES[value]
    try:
        text = str(value) if isinstance(value, _Shown) else repr(value)
    except ValueError:
        return "a huge number"  # Python refuses to write out one of more than 4,300 digits
    return text if len(text) <= SHOWN_VALUE_CHARS else text[: SHOWN_VALUE_CHARS - 3] + "..."
