"""Fair shares: what each queue may have of what there is, and how far each is from it.

Shares are max-min fair by hierarchical water-filling: at each level the guarantees come first, what is left is
poured out by weight until a queue has what it wants, and queues of weight 0 get what nobody else wants. What a
queue wants is what it holds and what waits in it. A queue's position is its use divided by its share; the smallest
is served first. Where past use counts (core.memory), it stands beside what is held now. Sources:
Bertsekas and Gallager, Data Networks (max-min fairness); Ghodsi et al., Dominant Resource Fairness, NSDI 2011
(measure `dominant`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.core.memory import WIDE
from clearway.core.resources import CPUS, DISK, GPUS, MEMORY
from clearway.model.fleet import PLENTY
from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from clearway.core.ledger import Ledger
    from clearway.core.queues import Amounts, Queues

FINE = 1 << 20  # shares are worked out in parts of a unit this fine, so that rounding never matters
RATIO = 1 << 30  # use by share is an integer in parts of this
TOTAL = 1 << 30  # all of the fleet in the measure `dominant`

Position = tuple[tuple[int, int], ...]
"""From the top queue down: (1 for weight 0, use by share). Compared level by level; the smaller is served first."""


class Wish(NamedTuple):
    """What one queue brings to the sharing: how much it wants, what it is guaranteed, its weight, what it lends."""

    wants: int
    guarantee: int
    weight: int
    lends: bool = True


def water_fill(wishes: list[Wish], amount: int) -> list[int]:
    """Divide an amount among queues of one level; returns each one's share, in the unit of `amount`.

    If the guarantees together are more than there is, they shrink in proportion.
    """
    base = [min(w.wants, w.guarantee) for w in wishes]
    kept = [b if w.lends else w.guarantee for b, w in zip(base, wishes, strict=True)]
    if sum(kept) > amount:
        total = sum(kept)
        return [k * amount // total for k in kept]
    shares = list(base)
    left = amount - sum(kept)
    for weighty in (True, False):
        open_ones = [i for i, w in enumerate(wishes) if w.wants > shares[i] and (w.weight > 0) == weighty]
        left = _pour(wishes, shares, open_ones, left, by_weight=weighty)
    return shares


def _pour(wishes: list[Wish], shares: list[int], open_ones: list[int], left: int, *, by_weight: bool) -> int:
    """Raise the level of the open queues together until each is full or nothing is left; return what is left."""

    def weight(i: int) -> int:
        return wishes[i].weight if by_weight else 1

    order = sorted(open_ones, key=lambda i: ((wishes[i].wants - shares[i]) * FINE // weight(i), i))
    weights = sum(weight(i) for i in order)
    for i in order:
        missing = wishes[i].wants - shares[i]
        part = min(missing, left * weight(i) // weights)
        shares[i] += part
        left -= part
        weights -= weight(i)
    return left


class Fairness:
    """Shares and positions of all queues, worked out when first asked after something changed."""

    def __init__(self, queues: Queues, ledger: Ledger, measure: str) -> None:
        """Measure by device time (`gpu`; CPUs where there are no devices) or by dominant resource (`dominant`)."""
        self._queues, self._ledger, self._measure = queues, ledger, measure
        self._shares: dict[str, int] = {}
        self._wishes: dict[str, Wish] = {}
        self._capacity: dict[str, int] = {}
        self._seen: tuple[int, int] = (-1, -1)
        self._until = -1
        self._levels: dict[str, tuple[int, list[Wish]]] = {}
        """What was shared out below each queue last, and among which wishes."""
        self._positions: dict[str, tuple[int, Position]] = {}
        self._tops: dict[str, tuple[int, list[tuple[tuple[int, int], str]]]] = {}
        """The two that stand highest below each queue, and when that was so."""

    def _refresh(self) -> None:
        seen = (self._queues.revision, self._ledger.fleet_revision)
        if seen == self._seen:
            return
        touched = {name for name, at in self._queues.touched.items() if at > self._until}
        if seen[1] != self._seen[1]:
            self._capacity, touched = capacity(self._ledger), set(self._queues.specs)
            self._levels.clear()
        self._seen, self._until = seen, max(self._queues.touched.values())
        for name in touched:
            self._wishes.pop(name, None)
        self._share_out("", self._all(), touched)

    def capacity(self) -> dict[str, int]:
        """Return what there is of each resource that is counted."""
        self._refresh()
        return self._capacity

    def _all(self) -> int:
        if self._measure == "dominant":
            return TOTAL * FINE
        return self._capacity["gpus" if self._capacity["gpus"] else "cpus"] * FINE

    def measured(self, amounts: Amounts) -> int:
        """Return amounts as one number, in fine parts."""
        if self._measure == "dominant":
            caps = self._capacity
            return max((amounts.get(r, 0) * TOTAL * FINE // cap for r, cap in caps.items() if cap), default=0)
        return amounts.get("gpus" if self._capacity["gpus"] else "cpus", 0) * FINE

    def _share_out(self, parent: str, amount: int, touched: set[str]) -> None:
        """Share an amount out among the queues below one; what nothing touched stays as it is."""
        children = self._queues.children(parent)
        wishes = [self._wish(name) for name in children]
        if self._levels.get(parent) != (amount, wishes):
            self._levels[parent] = (amount, wishes)
            self._shares.update(zip(children, water_fill(wishes, amount), strict=True))
            self._positions.clear()
            self._tops.clear()
            touched = touched.union(children)
        for name in children:
            if name in touched and self._queues.children(name):
                self._share_out(name, self._shares[name], touched)

    def _wish(self, name: str) -> Wish:
        found = self._wishes.get(name)
        if found is None:
            spec = self._queues.specs[name]
            guarantee, wants = self.measured(dict(spec.guarantee)), self._wants(name)
            found = Wish(wants if spec.borrow else min(wants, guarantee), guarantee, spec.weight, spec.lend)
            self._wishes[name] = found
        return found

    def _wants(self, name: str) -> int:
        """Return what a queue can use: its own jobs and what its children can use, within its limits."""
        queues = self._queues
        children, limit = queues.children(name), dict(queues.specs[name].limit)
        own = queues.wanted_here(name)
        capped = {r: min(amount, limit.get(r, amount)) for r, amount in own.items()} if limit else own
        wants = self.measured(capped)
        if not children:
            return wants
        wants += sum(self._wish(child).wants for child in children)
        return min([wants, *(self.measured({r: a}) for r, a in limit.items() if self.measured({r: 1}))])

    def share(self, queue: str) -> int:
        """Return a queue's fair share, in fine parts of the measure."""
        self._refresh()
        return self._shares.get(queue, 0)

    def unit(self) -> str:
        """Return what shares are measured in: gpus, cpus where there are no devices, or dominant."""
        self._refresh()
        return "dominant" if self._measure == "dominant" else "gpus" if self._capacity["gpus"] else "cpus"

    def thousandths(self, queue: str) -> int:
        """Return a queue's fair share in thousandths of a GPU, of a CPU, or of the fleet (measure `dominant`)."""
        whole = TOTAL // 1000 if self._measure == "dominant" else 1
        return self.share(queue) // FINE // whole

    def position(
        self, queue: str, more: Amounts | None = None, less: Amounts | None = None, *, past: bool = True
    ) -> Position:
        """Return how far a queue is from its share, as it is or with `more` or `less` held; `past`: its past counts."""
        self._refresh()
        if more is not None or less is not None or not past or self._queues.memory is not None:
            return tuple(self._step(name, more, less, past=past) for name in reversed(self._queues.chain(queue)))
        at, known = self._queues.stamp(queue), self._positions.get(queue)
        if known is None or known[0] != at:
            found = tuple(self._step(name, None, None, past=past) for name in reversed(self._queues.chain(queue)))
            known = self._positions[queue] = (at, found)
        return known[1]

    def stands_above(self, queue: str, more: Amounts) -> bool:
        """Return whether some queue is further above its share than a queue would be with more.

        Compared where the two part, by what both hold now.
        """
        after = self.position(queue, more=more, past=False)
        chain = tuple(reversed(self._queues.chain(queue)))
        return any(
            self._highest(parent, but=name) > mine
            for parent, name, mine in zip(("", *chain), chain, after, strict=False)
        )

    def _highest(self, parent: str, but: str) -> tuple[int, int]:
        """Return where the queue stands that is furthest above its share of those right below one, but one of them."""
        self._refresh()
        at, known = self._queues.moves, self._tops.get(parent)
        if known is None or known[0] != at:
            steps = [(self._step(name, None, None, past=False), name) for name in self._queues.children(parent)]
            known = self._tops[parent] = (at, sorted(steps, reverse=True)[:2])
        return next((step for step, name in known[1] if name != but), (0, 0))

    def _step(self, name: str, more: Amounts | None, less: Amounts | None, *, past: bool) -> tuple[int, int]:
        use, share = self._burden(name, more, less, past=past), self._shares.get(name, 0)
        ratio = use * RATIO // share if share else (RATIO * RATIO if use else 0)
        return (1 if self._queues.specs[name].weight == 0 else 0, ratio)

    def _burden(self, name: str, more: Amounts | None, less: Amounts | None, *, past: bool) -> int:
        """Return what counts against a queue: what it holds, and what it held before."""
        held, before = self._queues.burden(name, more, less), self._queues.past(name) if past else {}
        if not before:
            return self.measured(held)
        both = {r: (held.get(r, 0) << WIDE) + before.get(r, 0) for r in {*held, *before}}
        return self.measured(both) >> WIDE

    def past(self, queue: str) -> int | None:
        """Return what a queue held before, in thousandths as shares are; None where the policy does not remember."""
        if self._queues.memory is None:
            return None
        self._refresh()
        whole = TOTAL // 1000 if self._measure == "dominant" else 1
        return (self.measured(self._queues.past(queue)) >> WIDE) // FINE // whole


def capacity(ledger: Ledger) -> dict[str, int]:
    """Return what the open nodes have together; resources that some node has without measure are left out."""
    n = ledger.count
    found = {"gpus": int(ledger.cap[GPUS][:n][ledger.open[:n]].sum()) * WHOLE if ledger.cap else 0, "cpus": 0}
    for name, row in (("cpus", CPUS), ("memory", MEMORY), ("disk", DISK)):
        if ledger.cap:
            amounts = ledger.cap[row][:n][ledger.open[:n]]
            if len(amounts) and int(amounts.max()) < PLENTY:
                found[name] = int(amounts.sum())
    return found
