"""Typed reasons: why a job waits, started, stopped or was refused. Shells put them into words."""

from __future__ import annotations

from enum import StrEnum

import msgspec

Fact = int | str


class Code(StrEnum):
    """What kind of reason it is. Each code has its sentence in `observe.words` and its page in docs/reasons."""

    # why a job waits
    NO_CAPACITY = "no-capacity"
    NEVER_FITS = "never-fits"
    BEHIND = "behind"
    RESERVATION = "reservation"
    QUEUE_LIMIT = "queue-limit"
    SLOTS = "slots"
    AFTER = "after"
    RETRY_DELAY = "retry-delay"
    NO_VICTIM = "no-victim"
    CLEARING = "clearing"
    FROZEN = "frozen"
    HELD = "held"
    ARRAY = "array"
    ARRAY_TURN = "array-turn"
    BOOKED = "booked"
    ORDERED = "ordered"
    MACHINE_LIMIT = "machine-limit"
    BUDGET = "budget"
    # why an attempt started
    PLACED = "placed"
    BACKFILLED = "backfilled"
    INHERITED = "inherited"
    GROWN = "grown"
    # why a machine was ordered or is gone
    NEEDED = "needed"
    IDLE = "idle"
    NOT_NEEDED = "not-needed"
    BOOT_TIMEOUT = "boot-timeout"
    ORDER_FAILED = "order-failed"
    # why an attempt or a job ended or was refused
    EXITED = "exited"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    REQUEUED = "requeued"
    IDLE_GPUS = "idle-gpus"
    TIME_LIMIT = "time-limit"
    DEADLINE = "deadline"
    MAX_COST = "max-cost"
    START_DEADLINE = "start-deadline"
    NODE_LOST = "node-lost"
    SPOT_NOTICE = "spot-notice"
    START_FAILED = "start-failed"
    EXIT_UNKNOWN = "exit-unknown"
    RETRIES_USED_UP = "retries-used-up"
    NOT_RETRIED = "not-retried"
    RAN_SHORT = "ran-short"
    LOSSES_USED_UP = "losses-used-up"
    RETRY_WINDOW = "retry-window"
    DEPENDENCY = "dependency"
    INDICES = "indices"
    BAD_VALUE = "bad-value"
    # why a step or a workflow ended as it did
    STEP_FAILED = "step-failed"
    LOOP_LIMIT = "loop-limit"
    RULE = "rule"
    CONDITION = "condition"
    NOT_CHOSEN = "not-chosen"
    NOT_A_LIST = "not-a-list"
    NOT_A_FOLLOWER = "not-a-follower"
    TOO_LONG = "too-long"
    SKIPPED_ITSELF = "skipped-itself"
    FLOW_OVER = "flow-over"
    SKIPPED_BY = "skipped-by"
    # why a run of a schedule waits, or a tick has none
    PREVIOUS_RUN = "previous-run"
    OVERLAP = "overlap"
    CLOCK_CHANGE = "clock-change"
    EXCLUDED = "excluded"
    # why a search ended as it did
    EVERY_POINT = "every-point"
    TRIALS_FAILED = "trials-failed"
    NO_POINT = "no-point"
    STOPPED_EARLY = "stopped-early"


class Reason(msgspec.Struct, frozen=True, gc=False):
    """A code and its facts, sorted by name. Facts are amounts (integers in the model's units) and names."""

    code: Code
    facts: tuple[tuple[str, Fact], ...] = ()

    def get(self, key: str, default: Fact = "") -> Fact:
        """Return one fact."""
        for k, v in self.facts:
            if k == key:
                return v
        return default


def because(code: Code, **facts: Fact) -> Reason:
    """Return a reason; facts in a fixed order, so that equal reasons are equal."""
    return Reason(code, tuple(sorted(facts.items())))
