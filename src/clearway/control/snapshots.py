"""Snapshots in a journal: how a world with its board becomes bytes, and how the newest good one is found again."""

from __future__ import annotations

import gc
import json
import logging
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from clearway.control.board_kept import BoardKept
from clearway.loop.snapshot import WorldKept, restore, take
from clearway.loop.world import World
from clearway.model.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clearway.control.board import Board
    from clearway.model.fleet import PolicySpec
    from clearway.ports.journal import Journal, Mark

LOG = logging.getLogger("clearway.control")
VERSION = 1
"""Version of the form. A field that is added with a default needs no new one; one that changes its meaning does."""
PACKING = 1  # fastest: three quarters of the bytes go, and most of what is left is no smaller for more work


class Snapshot(msgspec.Struct, frozen=True):
    """What the records up to `number` lead to."""

    version: int
    number: int
    world: WorldKept
    board: BoardKept


class _Version(msgspec.Struct, frozen=True):
    version: int


class Loaded(NamedTuple):
    """A world and a board from a snapshot, and the number of the last record that they know."""

    world: World
    board: BoardKept
    number: int


_ENCODER = msgspec.json.Encoder()
_Form = TypeVar("_Form")


def written(world: World, board: Board, number: int) -> bytes:
    """Return the text of a snapshot of what the records up to `number` have led to. Between two turns only."""
    with without_collecting():
        return _text(Snapshot(VERSION, number, take(world), board.taken()))


@contextmanager
def without_collecting() -> Iterator[None]:
    """Have Python not look for garbage meanwhile: among so many new objects, none of them garbage, it takes longest."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _text(snapshot: Snapshot) -> bytes:
    try:
        return _ENCODER.encode(snapshot)
    except UnicodeEncodeError:
        # A file name or an argument need not be UTF-8. The standard encoder escapes what is not.
        return json.dumps(msgspec.to_builtins(snapshot), separators=(",", ":")).encode()


def packed(text: bytes) -> bytes:
    """Return the bytes to be kept."""
    return zlib.compress(text, PACKING)


def loaded(body: bytes, where: str) -> Loaded:
    """Return what `packed` bytes hold; StoreError naming `where` when they cannot be understood."""
    try:
        text = zlib.decompress(body)
        found = _read(text, _Version).version
        if found != VERSION:
            raise StoreError(f"{where} has version {found}, this one knows {VERSION}")
        with without_collecting():
            snapshot = _read(text, Snapshot)
            world = restore(snapshot.world)
            world.state.revision = snapshot.number
            return Loaded(world, snapshot.board, snapshot.number)
    except (zlib.error, msgspec.MsgspecError, ValueError) as error:
        raise StoreError(f"{where} cannot be understood: {error}") from error


def _read(text: bytes, form: type[_Form]) -> _Form:
    try:
        return msgspec.json.decode(text, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.convert(json.loads(text), form)


def newest(journal: Journal, moment_us: int | None = None) -> Loaded | None:
    """Return the newest snapshot that can be read, None where there is none; `moment_us`: not of a later moment.

    One that is damaged is passed over, as older ones or the records lead to the same. StoreError where the records
    that are needed in its place are gone.
    """
    floor = journal.floor()
    for mark in journal.marks():
        if moment_us is not None and mark.at_us > moment_us:
            continue
        try:
            return loaded(journal.snapshot(mark), f"the snapshot at record {mark.number}")
        except StoreError as error:
            if mark.number <= floor:
                raise
            LOG.warning("%s; an older one is used", error)
    if floor:
        said = "" if moment_us is None else ": what was so before the oldest snapshot is no longer known"
        raise StoreError(f"the records up to number {floor} are gone, and no snapshot stands for them{said}")
    return None


def world_at(journal: Journal, moment_us: int, policy: PolicySpec | None = None, seed: int = 0) -> World:
    """Return the world as it was at a moment: after all records of that moment. StoreError: that is no longer known."""
    begin = newest(journal, moment_us)
    world = begin.world if begin is not None else World(policy, seed)
    for entry in journal.read(begin.number if begin is not None else 0):
        if entry.record.at_us > moment_us:
            break
        world.apply(entry.record)
    return world


def worlds(journal: Journal, like: World) -> Iterator[World]:
    """Yield the world of the end of a journal: from its newest snapshot, from each older one, from its records alone.

    `like` has the policy and the seed that a world begins with where no snapshot is read.
    """
    for mark in journal.marks():
        try:
            begin = loaded(journal.snapshot(mark), f"the snapshot at record {mark.number}")
        except StoreError as error:
            LOG.warning("%s; an older one is used", error)
            continue
        yield _to_the_end(journal, begin.world, begin.number)
    if not journal.floor():
        yield _to_the_end(journal, World(like.policy, like.state.seed), 0)


def _to_the_end(journal: Journal, world: World, number: int) -> World:
    for entry in journal.read(number):
        world.apply(entry.record)
    return world


def without(marks: list[Mark], kept: set[int], spacing_us: int) -> list[Mark]:
    """Return the snapshots that may go: not the newest two, not those in `kept`, and one in each `spacing_us` stays."""
    gone: list[Mark] = []
    last_us: int | None = None
    for mark in reversed(marks[2:]):
        if mark.number in kept or last_us is None or mark.at_us - last_us >= spacing_us:
            last_us = mark.at_us
        else:
            gone.append(mark)
    return gone
