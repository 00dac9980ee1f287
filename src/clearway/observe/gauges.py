"""What is so now, for Prometheus: read from the board when it is asked for. docs/metrics.md says what each means."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from clearway import __version__
from clearway.model.job import WHOLE
from clearway.model.values import SECOND_US
from clearway.observe.devices import split, uses
from clearway.observe.meter import Names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prometheus_client import Metric

    from clearway.control import Controller, NodeRow, QueueRow
    from clearway.observe.ears import Ears
    from clearway.ports.journal import Journal

STATES = ("starting", "up", "stuck", "stopped", "failed")
NODE_STATES = ("ready", "drained", "leaving", "quiet", "lost")


class Gauges(Collector):
    """Reads a controller. Nothing is kept: an answer takes as long as nodes, queues and measured tasks are many."""

    def __init__(self, controller: Controller, journal: Journal, ears: Ears, term: int = 0) -> None:
        """Read these; `term` is that by which the journal is led."""
        self._controller, self._journal, self._ears, self._term = controller, journal, ears, term
        self._queue, self._model = Names(), Names()

    def describe(self) -> list[Metric]:
        """Return nothing: what there is is not asked before there is a controller that runs."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield what is so now."""
        board = self._controller.board
        yield InfoMetricFamily("clearway_build", "Which program it is", {"version": __version__})
        yield from self._of_controller()
        yield from self._of_queues(list(board.queues.values()))
        nodes = list(board.nodes.values())
        yield _labelled("clearway_nodes", "Nodes by what state they are in", "state", _states(nodes))
        yield from self._of_devices(nodes)
        yield from self._of_use()

    def _of_controller(self) -> Iterator[Metric]:
        controller = self._controller
        state = controller.health().state
        states = {one: int(one == state) for one in STATES}
        yield _labelled("clearway_controller_state", "1 for the state that the controller is in", "state", states)
        yield _plain("clearway_leader", "1 where this controller decides and writes", int(state == "up"))
        yield _plain("clearway_leader_term", "The term by which it leads, 0 where nobody else could", self._term)
        yield _plain("clearway_reservations", "Jobs that are promised a start", len(controller.world.promises))
        yield _plain("clearway_journal_records", "Number of the last record", self._journal.last())
        records, since_us = controller.owed
        late_s = 0.0 if since_us is None else max(controller.now_us() - since_us, 0) / SECOND_US
        yield _plain("clearway_journal_lag_records", "Records that are decided and not written", records)
        yield _plain("clearway_journal_lag_seconds", "For how long the oldest of them has not been written", late_s)
        yield _plain("clearway_engine_trouble", "1 while the engine fails as a whole", int(bool(controller.trouble)))
        yield _plain(
            "clearway_unheard_turns", "Turns that metrics, spans and notices have not heard", self._ears.waiting
        )
        yield CounterMetricFamily("clearway_lost_turns", "Turns that they never will", self._ears.lost)
        told = controller.audited
        yield CounterMetricFamily("clearway_audit_looks", "How often the controller looked at itself", told.looks)
        found = CounterMetricFamily("clearway_audit_differences", "What it found wrong", labels=["between"])
        for between, many in told.found:
            found.add_metric([between], many)
        yield found

    def _of_queues(self, queues: list[QueueRow]) -> Iterator[Metric]:
        depth: Counter[str] = Counter()
        running: Counter[str] = Counter()
        held: Counter[str] = Counter()
        bounds: dict[str, dict[str, float]] = {"guarantee": {}, "limit": {}}
        for row in queues:
            name = self._queue(row.spec.name)
            depth[name] += row.pending
            running[name] += row.running
            held[name] += dict(row.use).get("gpus", 0)
            for bound, of in bounds.items():
                amounts = dict(getattr(row.spec, bound))
                if "gpus" in amounts and name == row.spec.name:
                    of[name] = amounts["gpus"] / WHOLE
        yield _labelled("clearway_queue_depth", "Jobs that wait", "queue", depth)
        yield _labelled("clearway_queue_running", "Jobs that hold something", "queue", running)
        yield _labelled("clearway_queue_gpus_held", "GPUs that they hold", "queue", _gpus(held))
        yield _labelled("clearway_queue_gpus_guarantee", "GPUs that it can claim back", "queue", bounds["guarantee"])
        yield _labelled("clearway_queue_gpus_limit", "GPUs that it never exceeds", "queue", bounds["limit"])

    def _of_devices(self, nodes: list[NodeRow]) -> Iterator[Metric]:
        sums: dict[str, Counter[str]] = {kind: Counter() for kind in _KINDS}
        for row in nodes:
            model = self._model(row.spec.gpu_model or "unknown")
            for kind, milli in split(row)._asdict().items() if row.spec.gpus else ():
                sums[kind][model] += milli
        for kind, meaning in _KINDS.items():
            name = "clearway_gpus" if kind == "total" else f"clearway_gpus_{kind}"
            yield _labelled(name, meaning, "model", _gpus(sums[kind]))

    def _of_use(self) -> Iterator[Metric]:
        """Tell of what is measured alone: a model of which nothing is has no series."""
        known: Counter[str] = Counter()
        used: Counter[str] = Counter()
        for use in uses(self._controller.board, self._controller.measured.tasks):
            model = self._model(use.model or "unknown")
            known[model] += use.held
            used[model] += use.used
        yield _labelled("clearway_gpus_measured", "GPUs that are held and measured", "model", _gpus(known))
        yield _labelled("clearway_gpus_used", "What of them really worked at the last look", "model", _gpus(used))


_KINDS = {
    "total": "GPUs that there are",
    "held": "GPUs, or parts of them, that grants hold",
    "idle": "Whole GPUs that nobody holds and anybody could be given",
    "fragmented": "What is free of GPUs of which a part is held",
    "closed": "What is free of GPUs that nobody is given now: ill ones, and those of closed nodes",
}


def _states(nodes: list[NodeRow]) -> dict[str, int]:
    found = dict.fromkeys(NODE_STATES, 0)
    for row in nodes:
        found[row.state] += 1
    return found


def _gpus(milli: Counter[str]) -> dict[str, float]:
    return {name: amount / WHOLE for name, amount in milli.items()}


def _plain(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value)


def _labelled(name: str, meaning: str, label: str, values: dict[str, Any]) -> Metric:
    found = GaugeMetricFamily(name, meaning, labels=[label])
    for key in sorted(values):
        found.add_metric([key], values[key])
    return found
