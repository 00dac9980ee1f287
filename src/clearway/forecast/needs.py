"""What a job needs of memory, GPU memory, CPUs and GPUs, from what runs of the like took. Whole numbers only."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from clearway.forecast.kinds import stem
from clearway.model.needs import WORDS, Need, asked_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from clearway.model.job import JobSpec, Role
    from clearway.model.needs import Amounts, Took
    from clearway.ports.forecaster import Known, Run

RUNS = 64
"""So many last runs are kept of each group."""
FEWEST = 3
"""Of fewer runs nothing is made of what they took."""
MOST_GROUPS = 4096
"""So many groups are kept, each with one list a word; the one not used for longest is forgotten."""
OF_HUNDRED, QUANTILE = 100, 95
MARGIN = 15
"""In hundredths, above what 95 of 100 runs took; never below the least margin of a word."""
LESS = 10
"""Less is suggested where it is at least a tenth less: below that nobody gains anything."""
RAISED, BY = 3, 2
"""After running out of memory half as much again is taken to be enough, until a run tells."""
MEBI = 2**20


class Rule(NamedTuple):
    """How amounts of a word are rounded up, and what is added to them at least."""

    least_margin: int
    step: int
    margin: int = MARGIN


RULES = {
    "memory": Rule(64 * MEBI, 16 * MEBI),
    "gpu_memory": Rule(512 * MEBI, 128 * MEBI),
    "cpus": Rule(100, 100),
    "gpus": Rule(0, 1, 0),
}
SIXTEENTHS = 4
"""Large amounts are rounded up to a sixteenth of the power of two below them, so that like jobs ask for the same."""
RAISABLE = ("memory", "gpu_memory")
"""Words of which more is suggested than is asked for: without it a job ends, or takes what is another's."""


class Kind(NamedTuple):
    """One way to group roles of jobs; `own`: all of a group are of one user."""

    words: str
    own: bool
    key: Callable[[Known, str, int, Amounts], tuple[Hashable, ...]]


KINDS = (
    Kind(
        "runs of this name and size by this user",
        own=True,
        key=lambda known, role, tasks, had: (known.user, known.name and stem(known.name), role, tasks, had.gpus),
    ),
    Kind(
        "runs of this command by this user",
        own=True,
        key=lambda known, role, _, had: (known.user, known.command and stem(known.command), role, had.gpus),
    ),
    Kind(
        "runs of this size in this queue",
        own=False,
        key=lambda known, role, tasks, had: (known.queue, role, tasks, had.gpus, had.cpus, had.memory, had.gpu_memory),
    ),
)
"""From narrow to wide: the first that knows enough speaks. The last one rests on others' jobs: it is never applied."""


class Peaks:
    """What the last runs of a group took of a word.

    `ooms` ran out of it, with at most `out_at`, since one last did well with more than that. `floor`: what is too
    little was learnt by lowering it, so it is not lowered below half as much again for the next `held` good runs: a
    peak that no look sees would else cost each of them a second attempt.
    """

    __slots__ = ("floor", "held", "kept", "ooms", "out_at")

    def __init__(self) -> None:
        """Begin with none."""
        self.kept: deque[int] = deque(maxlen=RUNS)
        self.ooms = self.out_at = self.floor = self.held = 0

    def add(self, took: int | None, had: int, *, good: bool, oom: bool, lowered: bool = False) -> None:
        """Take in a run. One that ended otherwise than well tells only that so much was needed at least."""
        if oom:
            self.ooms, self.out_at = self.ooms + 1, max(self.out_at, had, took or 0)
            if lowered:
                self.floor, self.held = max(self.floor, self.out_at * RAISED // BY), RUNS
            return
        if took is None or not (good or took > max(self.kept, default=took)):
            return
        self.kept.append(took)
        self._hold(good=good)
        if good and (not had or had > self.out_at):
            self.ooms = self.out_at = 0

    def _hold(self, *, good: bool) -> None:
        self.held -= 1 if good and self.held else 0
        self.floor = self.floor if self.held else 0

    def most(self) -> int:
        """Return what 95 of 100 runs took at most."""
        rank = -(-len(self.kept) * QUANTILE // OF_HUNDRED)
        return sorted(self.kept)[rank - 1] if rank else 0

    def enough(self, rule: Rule) -> int | None:
        """Return what is thought to be enough; None where too few runs are known."""
        if len(self.kept) < FEWEST and not self.out_at:
            return None
        most = self.most()
        wanted = most + max(most * rule.margin // OF_HUNDRED, rule.least_margin) if self.kept else 0
        return _up(max(wanted, self.out_at * RAISED // BY, self.floor), rule.step)


class Found(NamedTuple):
    """What is enough by a group, and the group."""

    kind: Kind
    peaks: Peaks
    enough: int


def _up(amount: int, step: int) -> int:
    step = max(step, 1 << max(amount.bit_length() - 1 - SIXTEENTHS, 0)) if step > 1 else 1
    return -(-amount // step) * step


class Needs:
    """Learns from one run after another, and says of a job what it needs where it asks for something else."""

    def __init__(self) -> None:
        """Begin knowing nothing."""
        self._groups: dict[tuple[Hashable, ...], dict[str, Peaks]] = {}

    def learn(self, run: Run) -> None:
        """Take in a run that is over."""
        for took in run.took:
            for number, kind in enumerate(KINDS):
                self._learn((number, *kind.key(run.known, took.role, took.tasks, took.had)), took, good=run.good)

    def _learn(self, key: tuple[Hashable, ...], took: Took, *, good: bool) -> None:
        if "" in key[1:3]:  # nobody's, or of no name: alike in nothing
            return
        group = self._groups.pop(key, None)
        self._groups[key] = group = {} if group is None else group
        for word in WORDS:
            amount, had = took.took.of(word), took.had.of(word) or 0
            oom = took.oom and word == "memory"
            if amount is not None or oom:
                group.setdefault(word, Peaks()).add(amount, had, good=good, oom=oom, lowered=took.lowered)
        if len(self._groups) > MOST_GROUPS:
            del self._groups[next(iter(self._groups))]

    def of(self, known: Known, spec: JobSpec) -> tuple[Need, ...]:
        """Return where a job asks for other amounts than it needs; nothing of what it does not ask for."""
        return tuple(need for role in spec.roles for word in WORDS for need in self._of(known, role, word))

    def _of(self, known: Known, role: Role, word: str) -> Iterator[Need]:
        asked = asked_of(role).of(word)
        found = self.enough(known, role, word) if asked else None
        if asked and found is not None and _differs(word, asked, found.enough, found.peaks, role):
            peaks, ran = found.peaks, len(found.peaks.kept)
            words, own = found.kind.words, found.kind.own
            yield Need(role.name, word, asked, found.enough, peaks.most(), ran, words, peaks.ooms, own)

    def enough(self, known: Known, role: Role, word: str) -> Found | None:
        """Return what is thought to be enough of a word, by the narrowest group that knows; None where none does."""
        for number, kind in enumerate(KINDS):
            key = (number, *kind.key(known, role.name, role.tasks, asked_of(role)))
            peaks = None if "" in key[1:3] else self._groups.get(key, {}).get(word)
            enough = None if peaks is None else peaks.enough(RULES[word])
            if peaks is not None and enough is not None:
                return Found(kind, peaks, enough)
        return None


def _differs(word: str, asked: int, enough: int, peaks: Peaks, role: Role) -> bool:
    """Return whether it is worth saying: a tenth less would do, or so much is too little."""
    if enough < asked:
        return enough * LESS <= asked * (LESS - 1)
    if word == "gpu_memory" and not role.demand.one_device:
        return False
    return word in RAISABLE and enough > asked and max(peaks.most(), peaks.out_at) >= asked
