"""Hypothesis strategies for our Structs, made from their annotations."""

from __future__ import annotations

import functools
import types
from enum import Enum
from typing import Any, NewType, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PLAIN: dict[object, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    str: WORDS,
    bool: st.booleans(),
    bytes: st.binary(max_size=6),
    type(None): st.none(),
}


def shape(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of an annotation: structs, unions, tuples, enums and plain values."""
    if isinstance(kind, NewType):
        return shape(kind.__supertype__)
    if kind in PLAIN:
        return PLAIN[kind]
    if get_origin(kind) in (Union, types.UnionType):
        return st.one_of([shape(k) for k in get_args(kind)])
    if get_origin(kind) is tuple:
        return _tuples(get_args(kind))
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    return _structs(kind)


@functools.cache
def _structs(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for a struct, made when it is first drawn from: a workflow may have workflows inside."""
    return st.deferred(lambda: st.builds(kind, **{f.name: shape(f.type) for f in msgspec.structs.fields(kind)}))


def _tuples(kinds: tuple[Any, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    if kinds[-1] is Ellipsis:
        return st.lists(shape(kinds[0]), max_size=2).map(tuple)
    return st.tuples(*[shape(k) for k in kinds])
