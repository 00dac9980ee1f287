"""Which nodes of a Ray cluster there are, by what Ray says of them."""

from __future__ import annotations

from typing import Any

import pytest

from clearway.engines.ray.nodes import living


def _told(number: str, name: str, address: str = "10.0.0.1", *, alive: bool = True) -> dict[str, Any]:
    found = {"NodeID": number * 32, "NodeName": name, "NodeManagerAddress": address, "Alive": alive}
    return {**found, "Resources": {"CPU": 1.0}}


def test_a_machine_that_was_started_anew_has_its_name_once_the_other_is_dead() -> None:
    first = living([_told("a", "n1")])
    known = {node.number: name for name, node in first.items()}
    both = living([_told("a", "n1"), _told("b", "n1")], known)
    assert {name: node.number[0] for name, node in both.items()} == {"n1": "a"}
    after = living([_told("a", "n1", alive=False), _told("b", "n1")], known)
    assert {name: node.number[0] for name, node in after.items()} == {"n1": "b"}


@pytest.mark.parametrize("known", [{}, {"a" * 32: "n1"}])
def test_two_machines_of_one_name_are_told_apart(known: dict[str, str]) -> None:
    found = living([_told("a", "n1"), _told("b", "n1", "10.0.0.2")], known)
    assert sorted(found) == sorted([known.get("a" * 32, "n1-aaaaaaaa"), "n1-bbbbbbbb"])


def test_a_name_stays_while_its_node_lives() -> None:
    known = {"a" * 32: "n1-aaaaaaaa"}
    assert list(living([_told("a", "n1"), _told("b", "n1", "10.0.0.2", alive=False)], known)) == ["n1-aaaaaaaa"]
