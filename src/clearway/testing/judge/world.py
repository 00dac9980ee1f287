"""A scenario beside its timeline, indexed for the rules: who held what when, and which words asked for it."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clearway.model.job import WHOLE
from clearway.testing.judge.values import NEVER, Raw, amount, amounts, as_list, moment, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PIECE = re.compile(r"(\[\d+\]|@\d+)(?=$|\.)|( \(\d+\))$")  # an instance W.s[0], a pass W.s@2, anew W.s (7)
_TICK = re.compile(r"@\d+-[^.]*")  # the run of a schedule: S@2026-01-05T12:00:00Z
DEFAULT_LEASE_S, DEFAULT_CALM_S = 30, 60


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """One task's grant from `begin` to `end` (microseconds); `uses` are counted amounts by resource."""

    job: str
    attempt: int
    role: str | None
    node: str
    devices: tuple[int, ...]
    share: int
    begin: int
    end: int
    uses: dict[str, int]


def levels(held: Iterable[Held], resource: str, begin: int = -NEVER, end: int = NEVER) -> list[tuple[int, int]]:
    """Return (moment, total held) for `begin` and each later change before `end`; a moment's changes are one."""
    change: dict[int, int] = defaultdict(int)
    for h in held:
        if h.end > h.begin and h.uses.get(resource):
            change[h.begin] += h.uses[resource]
            change[h.end] -= h.uses[resource]
    total, found = sum(n for t, n in change.items() if t <= begin), []
    found.append((begin, total))
    for t in sorted(t for t in change if begin < t < end):
        total += change[t]
        found.append((t, total))
    return found


@dataclass(frozen=True, slots=True)
class Machine:
    """A node of a scenario: its words, from when on it can be there, and until when."""

    words: Raw
    born: int = 0
    gone: int = NEVER


class World:
    """The index. Raises KeyError, TypeError, ValueError or the like for what has not the form of docs/timeline.md."""

    def __init__(self, scenario: Raw, timeline: Raw) -> None:
        """Read both."""
        self.scenario, self.timeline = scenario, timeline
        named = scenario.get("policy")
        self.bundle = isinstance(named, str)
        self.policy: Raw = named if isinstance(named, dict) else {}
        self.lease, self.calm = (
            span(self.policy.get("lease", DEFAULT_LEASE_S)),
            span(self.policy.get("calm", DEFAULT_CALM_S)),
        )
        self.events = [(span(e["at"]), e) for e in scenario.get("events") or []]
        self.queues: dict[str, Raw] = {q["name"]: q for q in scenario.get("queues") or []}
        self.machines = dict(self._read_machines())
        self.jobs: dict[str, Raw] = timeline["jobs"]
        self.shown: list[Raw] = timeline.get("events", [])
        self.flows: dict[str, Raw] = {**timeline.get("workflows", {}), **timeline.get("searches", {})}
        self.asked = {name: self._with_defaults(words) for name, words in _asked(scenario)}
        self._kin: dict[str, list[str]] = defaultdict(list)
        for job in self.jobs:
            for alias in self._aliases(job):
                self._kin[alias].append(job)
        self._live: dict[tuple[str, int], list[Held]] = {}
        for job, entry in self.jobs.items():
            for attempt in entry["attempts"]:
                self._live[job, attempt["number"]] = list(self._read_tasks(job, attempt))
        self.held = [h for tasks in self._live.values() for h in tasks]
        ends = [h.end for h in self.held if h.end < NEVER] + [
            moment(float(e["at"])) for e in self.shown
        ]  # an event has a time
        self.until = span(scenario["until"]) if "until" in scenario else max(ends, default=0)

    def _read_machines(self) -> Iterator[tuple[str, Machine]]:
        fleet = self.scenario.get("fleet") or {}
        added = [(at, e["add_node"]) for at, e in self.events if "add_node" in e]
        for at, words in [(0, n) for n in fleet.get("nodes") or []] + added:
            count = words.get("count")
            for name in [words["name"]] if count is None else [f"{words['name']}-{i}" for i in range(count)]:
                yield name, Machine(words, at)
        types = {t["name"]: t for t in fleet.get("types") or []}
        for name, machine in self.timeline.get("machines", {}).items():
            yield name, Machine(types[machine["type"]], moment(machine["ready"]), moment(machine["gone"]))

    def _with_defaults(self, words: Raw) -> Raw:
        found: Raw = {"queue": "default"}
        for queue in reversed(list(self.upwards(words.get("queue", "default")))):
            found.update(self.queues.get(queue, {}).get("defaults") or {})
        return {**found, **words}

    def upwards(self, queue: str | None) -> Iterator[str]:
        """Yield a queue and all above it."""
        while queue:
            yield queue
            queue = self.queues.get(queue, {}).get("parent")

    # --- names -------------------------------------------------------------------------------------

    def _aliases(self, job: str) -> set[str]:
        found, owner = {job}, job.split(".", maxsplit=1)[0]
        bare = job
        while _PIECE.search(bare):
            bare = _PIECE.sub("", bare)
            found.add(bare)
        if owner in self.flows:
            found.add(owner)
        if _TICK.search(owner):
            found.add(_TICK.sub("", owner))
        return found

    def kin(self, name: str) -> list[str]:
        """Return the jobs behind a name: itself, its instances and passes, the steps of a workflow, runs, trials."""
        return self._kin.get(name, [])

    def named(self, pattern: str) -> list[str]:
        """Return the names in the timeline that a name or a pattern with a final `*` stands for."""
        if not pattern.endswith("*"):
            return [pattern]
        steps = [f"{w}.{s}" for w, x in self.timeline.get("workflows", {}).items() for s in x.get("steps", {})]
        return sorted({n for n in (*self.jobs, *self.flows, *steps) if n.startswith(pattern[:-1])})

    def known(self, pattern: str) -> bool:
        """Whether scenario or timeline have anything of this name."""
        if pattern.endswith("*"):
            return bool(self.named(pattern)) or any(n.startswith(pattern[:-1]) for n in self.asked)
        bare = _TICK.sub("", pattern)
        while _PIECE.search(bare):
            bare = _PIECE.sub("", bare)
        owners = [x["name"] for k in ("workflows", "schedules", "searches") for x in self.scenario.get(k) or []]
        return any(n in self.asked or n in owners or self.kin(n) for n in (pattern, bare)) or pattern in self.flows

    def words(self, job: str) -> Raw:
        """Return the words that asked for a job; parts of a step, runs of a schedule and trials share theirs."""
        bare = job
        while _PIECE.search(bare):
            bare = _PIECE.sub("", bare)
        bare = _TICK.sub("", bare)
        for name in (job, bare, bare.split(".")[0]):
            if name in self.asked:
                return self.asked[name]
        return {}

    def role(self, job: str, role: str | None) -> Raw:
        """Return the words of one kind of tasks of a job."""
        words = self.words(job)
        return {**words, **next((r for r in words.get("roles") or [] if r["name"] == role), {})}

    # --- what was held -----------------------------------------------------------------------------

    def _read_tasks(self, job: str, attempt: Raw) -> Iterator[Held]:
        for task in attempt["tasks"]:
            words, devices = self.role(job, task.get("role")), tuple(task["devices"])
            uses = amounts({k: words.get(k) for k in ("cpus", "memory", "disk", "bandwidth", "resources")})
            share = task.get("share", 0)
            uses["gpus"], uses["tasks"] = len(devices) * share, 1
            uses["gpu_memory"] = len(devices) * self._memory_each(words, task, share)
            yield Held(
                job, attempt["number"], task.get("role"), task["node"], devices, share,
                moment(task["from"]), moment(task["to"]), uses,
            )  # fmt: skip

    def _memory_each(self, words: Raw, task: Raw, share: int) -> int:
        if task.get("gpu_memory") or words.get("gpu_memory"):
            return int(task.get("gpu_memory") or amount("gpu_memory", words["gpu_memory"]))
        if self.policy.get("share_memory") == "proportional" and share < WHOLE:
            node = self.machines.get(task["node"], Machine({}))
            return amount("gpu_memory", node.words.get("gpu_memory", 0)) * share // WHOLE
        return 0

    def tasks(self, job: str, number: int) -> list[Held]:
        """Return what an attempt held."""
        return self._live.get((job, number), [])

    def slots(self, limit: str) -> list[Held]:
        """Return the slots of a shared limit: one for each attempt that holds anything."""
        found = []
        for (job, number), tasks in self._live.items():
            if tasks and limit in as_list(self.words(job).get("uses")):
                first, last = min(h.begin for h in tasks), max(h.end for h in tasks)
                found.append(Held(job, number, None, "", (), 0, first, last, {"slots": 1000}))
        return found

    # --- jobs, steps, workflows --------------------------------------------------------------------

    def attempts(self, name: str) -> list[Raw]:
        """Return the attempts of a job or of all parts of a step in order of start; of a workflow its runs."""
        if "runs" in self.flows.get(name, {}):
            return list(self.flows[name]["runs"])
        found = [a for job in self.kin(name) for a in self.jobs[job]["attempts"]]
        return sorted(found, key=lambda a: moment(a["from"]))

    def step(self, name: str) -> Raw | None:
        """Return the entry of a step W.s."""
        flows, dots = self.timeline.get("workflows", {}), [i for i, letter in enumerate(name) if letter == "."]
        for i in reversed(dots):  # a workflow inside another one has a name with dots, and so has what takes back
            found: Raw | None = flows.get(name[:i], {}).get("steps", {}).get(name[i + 1 :])
            if found is not None:
                return found
        return None

    def state(self, name: str) -> str | None:
        """Return the state of a workflow, search, step or job; None if there is none."""
        entry = self.flows.get(name) or self.step(name) or self.jobs.get(name)
        return str(entry["state"]) if entry else None

    def ended(self, name: str) -> int:
        """Return when it, or the last of its parts, ended; NEVER if not."""
        entry = self.flows.get(name) or self.jobs.get(name)
        if entry:
            return moment(entry.get("ended"))
        return max((moment(self.jobs[job].get("ended")) for job in self.kin(name)), default=NEVER)

    def scenario_flow(self, name: str) -> Raw:
        """Return the words of a workflow of the scenario, empty where there is none."""
        return next((one for one in self.scenario.get("workflows") or [] if one["name"] == name), {})

    def reran(self, name: str) -> bool:
        """Whether a person ran it, or its workflow, again."""
        for _, event in self.events:
            what = event.get("rerun")
            again = what["name"] if isinstance(what, dict) else what
            if again and again in (name, name.split(".", maxsplit=1)[0]):
                return True
        return False

    def said(self, name: str, at: int | None = None) -> str:
        """Return all explanations of a name: why it waited (at a moment), was refused, failed or was stopped."""
        found: list[object] = []
        for part in dict.fromkeys((name, *self.kin(name))):
            entry = self.jobs.get(part, {})
            for wait in entry.get("waits", []):
                if at is None or moment(wait["from"]) <= at < moment(wait["to"]):
                    found += wait["reasons"]
            if at is None:
                found += [entry.get("reason"), self.flows.get(part, {}).get("reason")]
                found += [a.get("cause") for a in entry.get("attempts", [])]
        return " | ".join(json.dumps(x, ensure_ascii=False) for x in found if x)


def _asked(scenario: Raw) -> Iterator[tuple[str, Raw]]:
    """Yield (name, words) of all that a scenario has run; `part`: its jobs carry other names."""
    for job in scenario.get("jobs") or []:
        count = job.get("count")
        for i in range(1 if count is None else count):
            submit = span(job.get("submit", 0)) + i * span(job.get("every", 0))
            yield (job["name"] if count is None else f"{job['name']}-{i + 1}"), {**job, "submit_us": submit}
    flows = {w["name"]: w for w in scenario.get("workflows") or []}
    for flow, words in flows.items():
        yield from _asked_of(flow, words)
    for kind in ("schedules", "searches"):
        for x in scenario.get(kind) or []:
            yield x["name"], _part(x.get("job") or {}, any_start=True)
            yield from _asked_of(x["name"], flows.get(x.get("workflow"), {}))


def _asked_of(flow: str, words: Raw) -> Iterator[tuple[str, Raw]]:
    """Yield (name, words) of the jobs of a workflow, with those of workflows inside it and what takes steps back."""
    for s in steps_of(words):
        if "name" not in s:
            continue
        name = f"{flow}.{s['name']}"
        yield name, _part(s, any_start="until" in s or "each" in s)
        if "undo" in s:
            yield f"{name}.undo", _part(s["undo"], any_start=True)
        if "workflow" in s:
            yield from _asked_of(name, s["workflow"])


def _part(words: Raw, *, any_start: bool) -> Raw:
    return {**words, "after": [], "part": True, "any_start": any_start}


def steps_of(form: Raw) -> Iterator[Raw]:
    """Yield all steps of a workflow, with those inside chains, groups and chords."""
    chord = form.get("chord") or {}
    inner = [
        *(form.get("steps") or []),
        *(form.get("chain") or []),
        *(form.get("group") or []),
        *(chord.get("group") or []),
    ]
    inner += [x for x in (chord.get("callback"), form.get("on_error")) if x]
    for step in inner:
        yield step
        yield from steps_of(step)
