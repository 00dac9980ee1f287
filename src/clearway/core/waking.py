"""Who is looked at in a cycle besides those that are awake: whom something of what changed may help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.core.view import View


def wake(view: View) -> None:
    """Wake the sleeping classes for which something came free since the last cycle."""
    if view.queues.keeping:
        view.queues.capacity = view.fairness.capacity()
        if view.ledger.gained:
            view.changed_limits.update(view.queues.keeping)
    if view.changed_limits:
        view.line.wake_for_limits(view.changed_limits)
    if view.promises_changed:
        view.line.wake_passed_over()
    if view.ledger.gained:
        view.line.wake_for_nodes(sorted(view.ledger.gained), view.ledger, lightly=not view.bookings)
    if view.victims_changed and view.rules.preempt:
        view.line.wake_without_room(view.may_take, lightly=not view.bookings and view.rules.backfill != "conservative")
        if view.bookings:
            view.line.wake_passed_over()
