"""Chains, groups and chords, by a real controller and real workers."""

from __future__ import annotations

from typing import Any

import pytest

from clearway import chain, chord, chunks, group, starmap
from tests.sdk.tasks_used import add, double, fails_for, total, yields

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("client")]
PATIENCE_S = 60


@pytest.mark.parametrize(
    ("sketch", "result"),
    [
        (add.s(1, 2) | double.s() | add.s(10), 16),
        (group(add.s(n) for n in range(5)), [1, 2, 3, 4, 5]),
        (group(add.s(1), double.s(4)), [2, 8]),
        (group([]), []),
        (chord([], total.s()), 0),
        (chord([double.s(3)], total.s()), 6),
        (chord((add.s(n) for n in range(1500)), total.s()), sum(range(1501))),
        (chain(add.s(1), group(double.s(), add.s(5), add.s(1) | double.s()), total.s()), 4 + 7 + 6),
        (group(chord([add.s(1), double.s(2)], total.s()), group(add.s(1), group(add.s(2)))), [6, [2, [3]]]),
        (starmap(add, [(1, 2), (3, 4)]) | total.s(), 10),
        (chunks(add, range(5), 2), [[1, 2], [3, 4], [5]]),
        (chain(double.s(1), chunks(add, [10, 20, 30], 2)), [[12, 22], [32]]),
    ],
)
def test_what_is_put_together_gives(sketch: Any, result: object) -> None:
    assert sketch.remote().get(PATIENCE_S) == result


def test_a_failing_member_fails_the_group_and_what_follows_it() -> None:
    members = [fails_for.s(n, [3, 7]) for n in range(10)]
    handle = chord(members, total.s()).remote()
    with pytest.raises(ValueError, match="3 is bad") as caught:
        handle.get(PATIENCE_S)
    assert handle.status == "failed"
    alone = group(members).remote()
    with pytest.raises(ValueError, match="3 is bad") as caught:
        alone.get(PATIENCE_S)
    assert caught.value.__notes__ == [f"map {alone.id}: 2 of its 10 parts failed"]


def test_a_generator_gives_a_list() -> None:
    assert yields.remote(3).get(PATIENCE_S) == [0, 1, 2]
