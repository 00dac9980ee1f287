"""What is written to the journal or sent to an engine reads back as itself."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearway.model.actions import Action
from clearway.model.asks import Ask
from clearway.model.events import Decided, Input, Record
from clearway.model.flow_events import FlowRecord
from clearway.model.policy_events import PolicyRecord
from clearway.ports import Inventory, Report
from tests.model.shapes import shape

RECORDS = [*get_args(Input), *get_args(Decided), *get_args(FlowRecord), *get_args(PolicyRecord)]
SENT = [*get_args(Action), *get_args(Report)]
FEW = settings(max_examples=15)  # enough for every optional part to be there and not; there are many kinds


def test_the_union_of_records_is_what_comes_in_and_what_is_decided() -> None:
    assert set(get_args(Record)) == set(RECORDS)


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
@FEW
@given(data=st.data())
def test_every_record_reads_back_as_itself(kind: type[Any], data: st.DataObject) -> None:
    record = data.draw(shape(kind))
    text = msgspec.json.encode(record)
    assert msgspec.json.decode(text, type=Record) == record
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=Record) == record


@pytest.mark.parametrize("kind", SENT, ids=lambda kind: kind.__name__)
@FEW
@given(data=st.data())
def test_every_message_to_and_from_an_engine_reads_back_as_itself(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(shape(kind))
    assert msgspec.json.decode(msgspec.json.encode(message), type=Action | Report) == message


@pytest.mark.parametrize("kind", [*get_args(Ask), Inventory], ids=lambda kind: kind.__name__)
@FEW
@given(data=st.data())
def test_every_ask_reads_back_as_itself(kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(shape(kind))
    assert msgspec.json.decode(msgspec.json.encode(message), type=kind) == message


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_every_record_begins_with_its_moment_and_names_its_kind(kind: type[Any]) -> None:
    assert msgspec.structs.fields(kind)[0].name == "at_us"
    assert kind.__struct_config__.tag == kind.__name__
    assert kind.__struct_config__.frozen


def test_kinds_of_records_have_different_names() -> None:
    names = [kind.__name__ for kind in RECORDS + SENT]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "text", [b"{}", b"5", b'{"type":"Unknown","at_us":1}', b'{"type":"NodeLost","at_us":1}', b'{"type":"NodeLost"']
)
def test_a_record_that_is_not_one_is_refused(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(text, type=Record)
