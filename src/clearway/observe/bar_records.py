"""What bars are made of, as a journal is read for them: of each record the few fields that they show.

The names of fields and tags are those of the records: whoever takes one of these takes the whole record, too.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from clearway.model.events import Grant, TaskRef
from clearway.model.ids import JobId, NodeId


class Owner(Struct, gc=False):
    """Whose job it is."""

    name: str
    queue: str = "default"
    user: str = ""
    tenant: str = ""


class Cause(Struct, gc=False):
    """The code of a reason."""

    code: str


class Use(Struct, gc=False):
    """How much of its devices a task used, in thousandths, and on how many of them anything worked."""

    busy: int | None = None
    worked: int | None = None


class Submitted(Struct, tag=True, gc=False):
    """A job was submitted."""

    job: JobId
    spec: Owner


class Started(Struct, tag=True, gc=False):
    """An attempt started."""

    at_us: int
    job: JobId
    attempt: int
    grants: tuple[Grant, ...]


class Resized(Struct, tag=True, gc=False):
    """An attempt got more tasks, or fewer."""

    at_us: int
    job: JobId
    attempt: int
    more: tuple[Grant, ...] = ()


class TaskEnded(Struct, tag=True, gc=False):
    """A task is over."""

    at_us: int
    task: TaskRef
    used: Use | None = None


class AttemptEnded(Struct, tag=True, gc=False):
    """An attempt is over."""

    at_us: int
    job: JobId
    attempt: int
    end: str
    cause: Cause


class NodeLost(Struct, tag=True, gc=False):
    """A node is lost with all on it."""

    at_us: int
    node: NodeId


class NodeRemoved(Struct, tag=True, gc=False):
    """A node is gone with all on it."""

    at_us: int
    node: NodeId


BarRecord = Submitted | Started | Resized | TaskEnded | AttemptEnded | NodeLost | NodeRemoved
READER: msgspec.json.Decoder[BarRecord] = msgspec.json.Decoder(BarRecord)
KINDS = frozenset(kind.__name__ for kind in BarRecord.__args__)
"""Names of the types of records that bars are made of."""


def attempt_of(record: BarRecord) -> tuple[JobId, int] | None:
    """Return the job and the number of the attempt that a record is of, None where it is of none."""
    match record:
        case TaskEnded():
            return record.task.job, record.task.attempt
        case Started() | Resized() | AttemptEnded():
            return record.job, record.attempt
        case _:
            return None
