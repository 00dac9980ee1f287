"""Which class of the style a queue or a policy is drawn with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

QUEUE_COLOURS = 8
POLICY_COLOURS = 6
OTHER = "other"


def queue_classes(queues: Sequence[str]) -> dict[str, str]:
    """Return a class for each queue; those beyond the colours share the last one, `other`."""
    if len(queues) <= QUEUE_COLOURS:
        return {name: f"q{i}" for i, name in enumerate(queues)}
    return {name: f"q{i}" if i < QUEUE_COLOURS - 1 else "qx" for i, name in enumerate(queues)}


def policy_class(index: int) -> str:
    """Return the class of the policy in this place."""
    return f"p{index % POLICY_COLOURS}"
