"""A world from its snapshot knows and does the same; and nothing that a world knows is left out by oversight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from clearway.core.asked import Asked
from clearway.core.copies import Copies
from clearway.core.line import Line, WaitClass
from clearway.core.memory import Memory
from clearway.core.queues import Queues
from clearway.core.view import Running
from clearway.flow.search import SearchTrack, Trial
from clearway.flow.track import FlowTrack, Instance, StepTrack
from clearway.loop.entry import JobEntry
from clearway.loop.past import MOST_NAMES, NAMES_KEPT_US
from clearway.loop.schedule_state import RunTrack, ScheduleTrack
from clearway.loop.snapshot import WorldKept, restore, take
from clearway.loop.snapshot.flows import FlowKept, InstanceKept, StepKept
from clearway.loop.snapshot.forms import JobKept
from clearway.loop.snapshot.schedules import RunKept, ScheduleKept, SearchKept, TrialKept
from clearway.loop.world import World
from clearway.model.asks import Book, Hold, SetLimit, SetQueue
from clearway.model.errors import ConflictError, InputError
from clearway.model.fleet import BookingSpec, LimitSpec, QueueSpec
from clearway.model.flow import Dimension, FlowSpec, SearchSpec
from clearway.model.ids import FlowId
from clearway.model.job import Demand, JobSpec, Role
from clearway.model.values import SECOND_US
from clearway.testing.builders import Bench, job, node
from tests.loop.town import facts

if TYPE_CHECKING:
    from clearway.loop.snapshot.forms import AskedKept

KEPT = {
    World: {"state", "now_us", "victim_us"},
    Asked: {"_counts", "_next", "version", "mix"},
    Copies: {"_found", "_readers"},
    Memory: {"_since", "_levels", "_use"},
}
"""What a snapshot keeps of these, by attribute."""
WORKED_OUT = {
    World: {
        "step_records",
        "step_actions",
        "step_found",
        "step_supply",
        "step_draws",
        "unsaid",
        "forecasting",
        "progressing",
    },
    Asked: {"_seen"},
    Copies: set(),
    Memory: {"half_life_us", "now_us", "_told"},
}
"""What is worked out anew from what is kept."""
STATE_KEPT = {
    "cycle", "revision",
    "policy", "seed", "view", "jobs", "over", "names", "keys", "gone", "dependents", "nodes", "quiet", "lost", "strays",
    "unhealthy", "notices", "timers", "next_job", "controller_up_us", "ready", "flows", "lenders", "machines",
    "arrays", "budgets", "runs", "policies",
}  # fmt: skip
VIEW_KEPT = {"ledger", "queues", "line", "ends", "bookings", "reservations", "running", "types", "forecasts"}
VIEW_WORKED_OUT = {
    "rules", "fairness", "running_in", "lowest", "elastic", "emptied", "places", "changed_limits", "promises_changed",
    "victims_changed", "own_orders", "lifted", "_unsorted",
}  # fmt: skip
LEDGER_KEPT = {"rows", "specs", "open", "drained", "unwell", "holdings", "shelves", "asked"}
LEDGER_WORKED_OUT = {
    "count", "width", "revision", "cap", "free", "milli", "device_memory", "kind", "kinds", "_kind_of", "dev_share",
    "dev_room", "held_share", "held_room", "changed", "cut", "gained", "shrunk", "grants", "fleet_revision",
    "turns", "proportional", "any_links", "sick",
    "on_node", "_needs", "fragments", "booting", "leaving",
}  # fmt: skip
LINE_KEPT = {"classes", "keys", "_empty", "_made"}
LINE_WORKED_OUT = {
    "awake", "stirred", "hopeful", "new", "blocking", "count", "limited", "passed", "no_room", "_by_key", "_class_of",
    "_needs", "_pools",
    "_sleeps", "_in_slot", "_slots", "_fleet",
}  # fmt: skip
CLASS_KEPT = {"id", "spec", "jobs", "reasons"}
CLASS_WORKED_OUT = {
    "bound", "cannot", "claim", "claim_at", "need", "simple",
    "entries", "fleet", "limited_by", "mode", "never", "places", "pool", "shortest_us",
    "slot", "too_long_us",
}  # fmt: skip
QUEUES_KEPT = {"specs", "limits", "memory"}
QUEUES_WORKED_OUT = {"capacity", "keeping", "nested", "_least",
    "used", "slots", "asked", "revision", "any_guarantee", "any_per_user", "any_limit", "used_by", "_children",
    "_moves", "_moved", "_stated", "touched",
    "_chains", "_use", "_total",
}  # fmt: skip
RUNNING_KEPT = {
    "attempt", "calm_until_us", "candidate", "ended_task", "job", "leaving", "paused", "priority", "started_us",
    "stopping", "swaps", "used",
}  # fmt: skip


def through_bytes(world: World) -> World:
    return restore(msgspec.json.decode(msgspec.json.encode(take(world)), type=WorldKept))


def asked_of(world: World) -> AskedKept:
    return take(world).asked


def busy() -> Bench:
    """A bench where a bit of everything is under way."""
    bench = Bench(node("n", 4), node("m", 2))
    bench.step(SetQueue(QueueSpec("lab", guarantee=(("gpus", 2000),), order=("sjf",))))
    bench.step(Book(BookingSpec("demo", 500 * SECOND_US, 900 * SECOND_US, ("m",), whom=("ann",))))
    reading = (Role(demand=Demand(1, inputs=(("imagenet", 10**9),))),)
    first, held, *_ = bench.submit(
        JobSpec("reads", reading), job("held"), job("big", 4), job("late", after=("big",)), job("x", queue="lab")
    )
    bench.up(first)
    bench.step(SetLimit(LimitSpec("db", 1)))
    bench.submit(job("has", uses=("db",)), job("wants", uses=("db",), priority=3))
    bench.step(Hold(held))
    return bench


# --- nothing is forgotten by oversight -----------------------------------------------------------


def test_every_attribute_is_kept_or_worked_out_anew() -> None:
    """A new attribute belongs into the snapshot (`loop/snapshot`), or into the list of what follows from others."""
    bench = busy()
    state, view = bench.world.state, bench.world.state.view
    assert vars(state).keys() == STATE_KEPT
    assert vars(view).keys() == VIEW_KEPT | VIEW_WORKED_OUT
    assert vars(view.ledger).keys() == LEDGER_KEPT | LEDGER_WORKED_OUT
    assert vars(Line()).keys() == LINE_KEPT | LINE_WORKED_OUT
    assert vars(Queues()).keys() == QUEUES_KEPT | QUEUES_WORKED_OUT
    assert set(WaitClass.__slots__) == CLASS_KEPT | CLASS_WORKED_OUT
    assert set(Running.__slots__) == RUNNING_KEPT | {"spec"}
    assert set(JobEntry.__slots__) == set(JobKept.__struct_fields__)
    assert set(StepTrack.__slots__) == set(StepKept.__struct_fields__) - {"name"} | {"spec"}
    assert set(Instance.__slots__) == set(InstanceKept.__struct_fields__) - {"item"}
    assert vars(FlowTrack(FlowId(1), FlowSpec("f", ()), 0)).keys() == set(FlowKept.__struct_fields__) | {"graph"}
    flows = {
        "tracks",
        "names",
        "next",
        "parts",
        "inner",
        "stirred",
        "again",
        "_loose",
        "_over",
        "schedules",
        "searches",
    }
    assert vars(state.flows).keys() == flows
    assert set(ScheduleTrack.__slots__) == set(ScheduleKept.__struct_fields__)
    assert set(RunTrack.__slots__) == set(RunKept.__struct_fields__)
    schedules = {"tracks", "offset_us", "fires_from_us", "stirred", "next"}
    assert vars(state.flows.schedules).keys() == schedules | {"_numbers", "_of_job", "_of_flow"}
    assert vars(state.flows.searches).keys() == {"tracks", "stirred"} | {"_of_job", "doomed"}
    assert set(Trial.__slots__) == set(TrialKept.__struct_fields__) | {"number", "best_by"}  # these follow
    spec = SearchSpec("X", 1, JobSpec("X"), (Dimension("x", ("1",)),))
    worked_out = {"points", "live", "used", "completed", "failed", "stopped", "asked"}
    assert vars(SearchTrack(spec)).keys() == set(SearchKept.__struct_fields__) | worked_out
    for what, kept in KEPT.items():
        made = what(1, 1) if what is Memory else what()
        attributes = set(what.__slots__) if what is Copies else set(vars(made))
        assert attributes == kept | WORKED_OUT[what], what


# --- the same ------------------------------------------------------------------------------------


def test_a_busy_world_comes_back() -> None:
    bench = busy()
    copy = through_bytes(bench.world)
    copy.validate()
    assert take(copy) == take(bench.world)
    assert facts(copy) == facts(bench.rebuilt())
    assert copy.state.lenders.holders(("db",)) == bench.world.state.lenders.holders(("db",))
    assert vars(copy.state.lenders)["_line"] == vars(bench.world.state.lenders)["_line"]


def test_what_was_copied_and_asked_for_is_known() -> None:
    bench = busy()
    bench.submit(*(job(f"j{i}", 1 + i % 3) for i in range(40)))
    copy = through_bytes(bench.world)
    assert asked_of(copy) == asked_of(bench.world)
    assert copy.ledger.asked.mix.demands == bench.world.ledger.asked.mix.demands
    assert "imagenet" in copy.ledger.shelves.on[0]


def test_timers_go_on() -> None:
    bench = Bench(node(gpus=1))
    bench.submit(job("a", time_limit_us=60 * SECOND_US))
    bench.up(bench.world.job_named("a") or bench.submit()[0])
    bench.world = through_bytes(bench.world)
    assert bench.at(60).actions


def test_text_that_is_not_utf8_keeps_its_place() -> None:
    """`msgspec.json` refuses it: whoever writes a snapshot down must see to it (`store.codec`)."""
    bench = Bench(node())
    bench.submit(job("a", run=(b"caf\xe9".decode("utf-8", "surrogateescape"),)))
    with pytest.raises(UnicodeEncodeError):
        msgspec.json.encode(take(bench.world))


# --- names and keys of what is over --------------------------------------------------------------


def test_a_key_is_known_for_its_time_and_not_longer() -> None:
    bench = Bench(node())
    (number,) = bench.submit(job("a", idempotency_key="k"))
    bench.end(number)
    bench.world = through_bytes(bench.world)
    bench.now_us += NAMES_KEPT_US - SECOND_US
    assert bench.submit(job("a", idempotency_key="k")) == (number,)
    with pytest.raises(ConflictError, match="'k'"):
        bench.submit(job("b", idempotency_key="k"))
    bench.now_us += 2 * SECOND_US
    (other,) = bench.submit(job("b"))
    bench.end(other)
    assert bench.submit(job("b", idempotency_key="k")) == (other + 1,)
    with pytest.raises(InputError, match="after"):
        bench.submit(job("c", after=("a",)))


def test_a_key_stays_its_users_own_through_a_snapshot() -> None:
    bench = Bench(node())
    ended, waits = bench.submit(job("a", user="ada", idempotency_key="k"), job("a", user="eve", idempotency_key="k"))
    bench.end(ended)
    bench.world = through_bytes(bench.world)
    assert bench.submit(job("a", user="ada", idempotency_key="k")) == (ended,)
    assert bench.submit(job("a", user="eve", idempotency_key="k")) == (waits,)
    bench.now_us += NAMES_KEPT_US + SECOND_US
    (other,) = bench.submit(job("b"))
    bench.end(other)
    assert bench.world.state.keys.keys() == {("eve", "k")}, "hers is forgotten, the other's is not"


def test_a_newer_job_keeps_the_name() -> None:
    bench = Bench(node())
    (old,) = bench.submit(job("a"))
    bench.end(old)
    (new,) = bench.submit(job("a"))
    bench.now_us += NAMES_KEPT_US
    (other,) = bench.submit(job("b"))
    bench.end(other)
    assert bench.world.job_named("a") == new


def test_the_names_of_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearway.loop.past.MOST_NAMES", 3)
    assert MOST_NAMES > 3
    bench = Bench(node())
    for name in "abcde":
        bench.end(bench.submit(job(name))[0])
    assert set(bench.world.state.names) == {"c", "d", "e"}
