"""From settings to a controller: which journal, which engine, which policy."""

from __future__ import annotations

import hashlib
import time
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from clearway.compose.engines import Around, Reach, engine_of
from clearway.compose.stores import MARK, engine_home, lead, upkeep_of, word_of
from clearway.compose.watching import watching_of
from clearway.control import Anchor, Board, Controller, SystemClock, last_moment_us
from clearway.engines.local.paths import log_path
from clearway.forecast import RunTimes
from clearway.learn.optuna_sampler import OptunaSampler
from clearway.loop.forecasting import Forecasting
from clearway.loop.world import World
from clearway.model.asks import SetBudget, SetLimit, SetPolicy, SetQueue
from clearway.model.errors import InputError
from clearway.observe.gauges import Gauges
from clearway.policies.registry import policy_named, rules_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clearway.compose.watching import Watching
    from clearway.config.settings import Settings
    from clearway.forecast.adviser import Adviser
    from clearway.model.asks import Ask
    from clearway.model.events import TaskRef
    from clearway.model.fleet import PolicySpec, QueueSpec
    from clearway.ports.engine import Engine
    from clearway.store.sql import SqlJournal

CLOCK, SETTINGS = "clock", "settings"


class Assembled(NamedTuple):
    """A controller that has not begun yet, and its parts."""

    controller: Controller
    journal: SqlJournal
    engine: Engine
    reach: Reach
    log_path: Callable[[TaskRef, str], Path]
    remember: Callable[[], None]
    """To be called once the controller has taken over: its settings are in the journal then."""
    watching: Watching

    def again(self, settings: Settings) -> tuple[list[Ask], Callable[[], None]]:
        """Return what to ask so that other queues, limits and policy hold, and what to call when that is answered.

        Raises InputError for a policy that names no rule.
        """
        policy = policy_of(settings)
        return _first_asks(settings, policy), partial(self.journal.remember, SETTINGS, _mark(settings, policy))

    def close(self) -> None:
        """Give journal and engine up, after the controller has ended. Tasks go on."""
        self.watching.close()
        self.engine.close()
        self.journal.close()


def assemble(settings: Settings, on_end: Callable[[BaseException | None], None] | None = None) -> Assembled:
    """Put a controller together. Raises InputError (policy), ConflictError or StoreError (journal), EngineError."""
    policy = policy_of(settings)
    journal = lead(settings)
    try:
        clock = _clock(journal)
        first, mark = _first_asks(settings, policy), _mark(settings, policy)
        known = journal.recall(SETTINGS) == mark
        board = Board(settings.kept_finished)
        watching = watching_of(settings, journal, board)
        reach = Reach(settings)
        led = (journal.place, journal.term)
        engine = engine_of(Around(settings, led, watching.traces, reach, word_of(journal, MARK)))
        world = World(policy)
        world.forecasting = Forecasting(RunTimes(_adviser(settings)))
        controller = Controller(
            world, clock, engine, journal, board=board, first=() if known else first,
            upkeep=upkeep_of(settings, journal), on_end=on_end, sampler=_sampler(), observer=watching.ears,
            wall_us=lambda: time.time_ns() // 1000,
        )  # fmt: skip
        if watching.noticing is not None:
            watching.noticing.controller = controller
        watching.metrics.add(Gauges(controller, journal, watching.ears, journal.term))
        journal.on_deposed = controller.stop
    except BaseException:
        journal.close()
        raise
    remember = partial(journal.remember, SETTINGS, mark)
    return Assembled(
        controller, journal, engine, reach, partial(log_path, engine_home(settings)), remember, watching,
    )  # fmt: skip


def policy_of(settings: Settings) -> PolicySpec:
    """Return the policy that settings name. Raises InputError where its words name no rule, or one of replays only."""
    said = settings.policy
    policy = policy_named(said) if isinstance(said, str) else said
    rules_for(policy)
    if policy.estimate == "oracle":
        raise InputError("policy", said, "estimate user or forecast: only a replay knows how long a job really runs")
    return policy


def _clock(journal: SqlJournal) -> SystemClock:
    kept = journal.recall(CLOCK)
    clock = SystemClock(None if kept is None else Anchor.read(kept), last_moment_us(journal))
    journal.remember(CLOCK, clock.anchor.text())
    return clock


def _sampler() -> OptunaSampler | None:
    """Return what finds the points of samplers that learn, None without the extra `search`."""
    return OptunaSampler() if find_spec("optuna") and find_spec("cmaes") else None


def _adviser(settings: Settings) -> Adviser | None:
    """Return what advises forecasts, where the settings ask for it. It is heavy, and imported only then."""
    if not settings.boosted_trees:
        return None
    if find_spec("lightgbm") is None:
        raise InputError("boosted_trees", "yes", "what is installed: pip install 'clearway[learn]'")
    from clearway.learn.boosted import Boosted

    return Boosted(beside=True)


def _first_asks(settings: Settings, policy: PolicySpec) -> list[Ask]:
    return [
        SetPolicy(policy),
        *(SetQueue(queue) for queue in _parents_first(settings.queues)),
        *(SetLimit(limit) for limit in settings.limits),
        *(SetBudget(budget) for budget in settings.budgets),
    ]


def _parents_first(queues: tuple[QueueSpec, ...]) -> list[QueueSpec]:
    """Return queues in an order in which they can be made; those with a parent that cannot be there come last."""
    left: list[QueueSpec] = list(queues)
    done: list[QueueSpec] = []
    while ready := [queue for queue in left if queue.parent not in {other.name for other in left}]:
        done += ready
        left = [queue for queue in left if queue not in ready]
    return done + left


def _mark(settings: Settings, policy: PolicySpec) -> str:
    """Return what tells these queues, limits and policy from others: unchanged ones are not asked for once more."""
    said = msgspec.json.encode([policy, settings.queues, settings.limits, settings.budgets])
    return hashlib.sha256(said).hexdigest()
