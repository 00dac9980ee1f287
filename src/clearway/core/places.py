"""Where one more task of a demand may go: every node's key, kept up to date by looking only at what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.core.protocols import Chance, Fine, Mixed, Selective
from clearway.core.resources import GPUS
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clearway.core.ledger import Ledger
    from clearway.core.protocols import Filter, Rules
    from clearway.model.fleet import NodeSpec
    from clearway.model.job import Demand

NONE = -1
MANY = 1 << 30  # more tasks than anyone asks for
POINT = 160_000  # scores are summed up in so many parts of a point
PREFERENCE = 1 << 48  # one step in the job's list of GPU models outweighs every score


class Places:
    """The candidates of one demand. `key[node]` is its score there, or -1 where there is no room now."""

    def __init__(self, ledger: Ledger, rules: Rules, demand: Demand) -> None:
        """Look at nothing yet; the first `refresh` looks at every node."""
        self.ledger, self.rules, self.demand = ledger, rules, demand
        self.may: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.key: NDArray[np.int64] = np.zeros(0, np.int64)
        self._scores = [
            (weight * (POINT // (rule.fine if isinstance(rule, Fine) else 1)), rule)
            for weight, rule in rules.scores
            if not isinstance(rule, Selective) or rule.concerns(demand)
        ]
        self._preference: NDArray[np.int64] | None = None
        self._chance = next((rule for _, rule in rules.scores if isinstance(rule, Chance)), None)
        self._mixed = any(isinstance(rule, Mixed) for _, rule in self._scores)
        self._mix = -1
        self._fleet = -1
        self._seen = 0

    def refresh(self) -> None:
        """Bring `may` and `key` up to date."""
        ledger = self.ledger
        if self._fleet != ledger.fleet_revision or self._seen < ledger.cut or self._mix != self._mix_now():
            self._rebuild()
        elif self._chance is None:
            end = ledger.cut + len(ledger.changed)
            if self._seen < end:
                rows = np.frombuffer(ledger.changed, np.int32)[self._seen - ledger.cut :].astype(np.int64)
                rows = rows[self.may.take(rows)]
                if len(rows):
                    self._rescore(rows)
                self._seen = end
        if self._chance is not None:
            self._look_anew()

    def _mix_now(self) -> int:
        return self.ledger.asked.version if self._mixed else -1

    def drawn(self) -> int | None:
        """Return a drawn number that says which device gets a part, None where the tightest does."""
        return None if self._chance is None else self._chance.draw(self.ledger)

    def _look_anew(self) -> None:
        """Score every node that has room: for a rule that draws from all of them."""
        nodes = np.arange(self.ledger.count)
        self.key[:] = NONE
        self._rescore(nodes[self.room(nodes)])

    def _rebuild(self) -> None:
        ledger, n = self.ledger, self.ledger.count
        self.may = self.admitted() & ledger.open[:n] & ~ledger.drained[:n]
        for row, amount in ledger.least_of(self.demand):
            self.may &= ledger.cap[row][:n] >= amount
        self.key = np.full(n, NONE, np.int64)
        self._preference = self._preferences()
        self._rescore(np.arange(n))
        self._mix = self._mix_now()
        self._fleet, self._seen = ledger.fleet_revision, ledger.cut + len(ledger.changed)

    def admitted(self) -> NDArray[np.bool_]:
        """Return which nodes could hold a task by their words alone: model, labels, taints, device memory."""
        demand = self.demand
        mask = self.ledger.of_kinds(lambda spec: bool(spec.name) and self._devices_will_do(spec))
        for rule in self.rules.filters:
            mask &= self.admitted_by(rule)
        return mask & (self.ledger.cap[GPUS][: self.ledger.count] > 0) if demand.one_device else mask

    def of_kind(self) -> list[int]:
        """Return the nodes that the filters admit, whatever they have."""
        mask = self.ledger.of_kinds(lambda spec: bool(spec.name))
        for rule in self.rules.filters:
            mask &= self.admitted_by(rule)
        return [int(node) for node in np.flatnonzero(mask)]

    def would_do(self) -> NDArray[np.bool_]:
        """Return which nodes would do, devices aside, whether they are in service or not."""
        ledger, n = self.ledger, self.ledger.count
        mask = ledger.of_kinds(lambda spec: bool(spec.name) and self._devices_will_do(spec))
        for rule in self.rules.filters:
            mask &= self.admitted_by(rule)
        for row, amount in ledger.least_of(self.demand):
            mask &= (ledger.cap[row][:n] >= amount) if row != GPUS else True
        return mask

    def _devices_will_do(self, spec: NodeSpec) -> bool:
        return self.demand.gpu_memory <= spec.gpu_memory

    def admitted_by(self, rule: Filter) -> NDArray[np.bool_]:
        """Return which nodes one filter admits. Asked once per kind of node, unless the job wants nodes by name."""
        demand = self.demand
        if any(key == "name" for key, _ in demand.nodes):
            return np.array([rule.admits(demand, spec) for spec in self.ledger.specs], np.bool_)
        return self.ledger.of_kinds(lambda spec: rule.admits(demand, spec))

    def _preferences(self) -> NDArray[np.int64] | None:
        models = self.demand.gpu_models
        if len(models) < 2:  # noqa: PLR2004 - one model is no choice
            return None
        rank = {model: len(models) - 1 - i for i, model in enumerate(models)}
        by_kind = np.array([rank.get(spec.gpu_model, 0) * PREFERENCE for spec in self.ledger.kinds], np.int64)
        return by_kind[self.ledger.kind[: self.ledger.count]]

    def room(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return on which of these nodes one more task finds room now, devices included."""
        ledger, demand = self.ledger, self.demand
        fits = self.may.take(rows)
        for row, amount in ledger.needs_of(demand):
            fits &= ledger.free[row].take(rows) >= amount
        if demand.one_device:
            width = ledger.width
            shares = ledger.dev_share.reshape(-1, width).take(rows, axis=0)
            rooms = ledger.dev_room.reshape(-1, width).take(rows, axis=0)
            memory = ledger.memory_of(demand, rows)
            memory = memory if isinstance(memory, int) else memory[:, None]
            fits &= ((shares >= demand.share) & (rooms >= memory)).any(axis=1)
        if demand.colocate:
            fits &= self.sharable(rows) >= demand.gpus
        return fits

    def sharable(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many devices of these nodes are idle or have a turn left for the demand."""
        ledger = self.ledger
        return ledger.free[GPUS].take(rows) + ledger.turns.count(ledger, rows, self.demand)

    def _rescore(self, rows: NDArray[np.int64]) -> None:
        if self.ledger.count == 1:
            # nothing to compare with
            self.key[rows] = np.where(self.room(rows), 0, NONE)
            return
        self.key[rows] = NONE
        rows = rows[self.room(rows)]
        total = np.zeros(len(rows), np.int64) if self._preference is None else self._preference.take(rows)
        if len(rows):
            for weight, rule in self._scores:
                total += rule.score(self.demand, self.ledger, rows) * weight
            self.key[rows] = total

    def parts(self) -> list[tuple[str, NDArray[np.int64]]]:
        """Return each rule's part in the scores of all nodes, in hundredths of a point; 0 where there is no room."""
        rows, found = np.flatnonzero(self.key >= 0), []
        for weight, rule in self._scores if self.ledger.count > 1 and len(rows) else ():
            column = np.zeros(self.ledger.count, np.int64)
            column[rows] = rule.score(self.demand, self.ledger, rows) * weight * 100 // POINT
            found.append((rule.name, column))
        return found

    def best(self, barred: NDArray[np.bool_] | None = None) -> int:
        """Return the node with the highest key, the lowest number among equals; -1 if no node has room."""
        if not len(self.key):
            return NONE
        key = self.key if barred is None else np.where(barred, NONE, self.key)
        node = int(key.argmax())
        return node if key[node] >= 0 else NONE

    def slots(self, *, empty: bool = False, one_each: bool = False) -> int:
        """Return how many tasks find room side by side, now or (`empty`) if all open nodes were empty."""
        return int(self.room_counts(empty=empty, one_each=one_each).sum())

    def room_counts(self, *, empty: bool = False, one_each: bool = False) -> NDArray[np.int64]:
        """Return for each node how many tasks find room there side by side, now or if it were empty."""
        ledger, demand, n = self.ledger, self.demand, self.ledger.count
        if one_each:
            return (self.may if empty else self.key >= 0).astype(np.int64)
        many = np.where(self.may, np.int64(MANY), 0)
        table = ledger.cap if empty else ledger.free
        for row, amount in ledger.least_of(demand) if empty else ledger.needs_of(demand):
            many = np.minimum(many, table[row][:n] // amount)
        if demand.colocate and not empty:
            many = np.minimum(many, self.sharable(np.arange(n)) // demand.gpus)
        if demand.one_device:
            many = np.minimum(many, self._parts(empty=empty))
        return np.maximum(many, 0)

    def _parts(self, *, empty: bool) -> NDArray[np.int64]:
        """Return how many tasks that ask for a part of one device each node has room for."""
        ledger, demand, n, width = self.ledger, self.demand, self.ledger.count, self.ledger.width
        shares = ledger.dev_share.reshape(-1, width)[:n]
        rooms = ledger.dev_room.reshape(-1, width)[:n]
        if empty:
            rooms = np.where(shares < 0, -1, ledger.device_memory[:n, None])
            shares = np.where(shares < 0, -1, WHOLE)
        fit = np.where(shares < 0, 0, MANY)
        if demand.share:
            fit = np.minimum(fit, shares // demand.share)
        memory = ledger.memory_of(demand, np.arange(n))
        if not isinstance(memory, int):
            fit = np.minimum(fit, rooms // np.maximum(memory, 1)[:, None])
        elif memory:
            fit = np.minimum(fit, rooms // memory)
        many: NDArray[np.int64] = np.maximum(fit, 0).sum(axis=1)
        return many
