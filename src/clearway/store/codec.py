"""How a record becomes bytes and is found again: JSON, because old journals must be readable for ever."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast, get_args

import msgspec

from clearway.model.errors import StoreError
from clearway.model.events import ClassWaits, Planned, Record
from clearway.model.flow_events import FlowRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.model.ids import ClassId, JobId

T = TypeVar("T")
_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
LAPSED = frozenset({Planned.__name__, *(kind.__name__ for kind in get_args(FlowRecord))})
"""Kinds of records that a snapshot stands for wholly, where they name no job: of cycles, workflows, ticks, searches."""


class Row(NamedTuple):
    """A record as a table holds it: what it can be found by, and itself as JSON."""

    at_us: int
    kind: str
    job: int | None
    cls: int | None
    body: bytes


def row_of(record: Record) -> Row:
    """Return the row of a record."""
    return Row(record.at_us, type(record).__name__, job_of(record), class_of(record), encode(record))


def job_of(record: Record) -> JobId | None:
    """Return the job that a record names, by itself or by one of its tasks."""
    found = getattr(record, "job", None)
    if found is None:
        found = getattr(getattr(record, "task", None), "job", None)
    return cast("JobId | None", found)


def class_of(record: Record) -> ClassId | None:
    """Return the class whose reasons a record states. Members (`Joined`) are found by their job."""
    return record.cls if isinstance(record, ClassWaits) else None


def encode(record: Record) -> bytes:
    """Return a record as one line of JSON."""
    try:
        return _ENCODER.encode(record)
    except UnicodeEncodeError:
        # A file name or an argument need not be UTF-8. The standard encoder escapes what is not.
        return json.dumps(msgspec.to_builtins(record), separators=(",", ":")).encode()


def decode(body: bytes, where: str) -> Record:
    """Return the record of `encode`; StoreError naming `where` when it is none of ours."""
    try:
        return _DECODER.decode(body)
    except msgspec.ValidationError as error:
        raise _unreadable(where, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _decode_escaped(body, where, error)


def decode_parts(bodies: Sequence[bytes], reader: msgspec.json.Decoder[T], where: str) -> list[T]:
    """Return records of `encode` as a decoder of some of their fields reads them. StoreError naming `where`."""
    try:
        return reader.decode_lines(b"\n".join(bodies))
    except msgspec.ValidationError as error:
        raise _unreadable(where, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            return [msgspec.convert(json.loads(body), reader.type) for body in bodies]
        except (ValueError, msgspec.ValidationError):
            raise _unreadable(where, error) from error


def _decode_escaped(body: bytes, where: str, first: Exception) -> Record:
    try:
        return cast("Record", msgspec.convert(json.loads(body), Record))
    except (ValueError, msgspec.ValidationError):
        raise _unreadable(where, first) from first


def _unreadable(where: str, error: Exception) -> StoreError:
    return StoreError(f"{where} cannot be understood, it is damaged or of a newer version: {error}")
