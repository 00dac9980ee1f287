"""What a workflow's words say about the order of its steps; worked out once."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from clearway.flow.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.model.flow import FlowSpec, StepSpec


class Graph:
    """Steps by name, their direct followers, and the largest priority that comes after each."""

    def __init__(self, spec: FlowSpec) -> None:
        """Read a checked workflow: no step stands before what it waits for."""
        self.steps = {step.name: step for step in spec.steps}
        self.followers: dict[str, list[str]] = {name: [] for name in self.steps}
        for step in spec.steps:
            for before in step.after:
                self.followers[before].append(step.name)
        self.makers = {name: s.name for s in spec.steps if s.job is not None for name, _ in s.job.outputs}
        """Which step writes data of a name."""
        self.heirs: dict[str, tuple[int, str]] = {}
        for step in reversed(spec.steps):
            self.heirs[step.name] = self._heir(step)

    def _heir(self, step: StepSpec) -> tuple[int, str]:
        """Return the largest priority of a step and those behind it, and whose it is; its own before an equal one."""
        behind, own = self.heir_behind(step.name), (-(2**31), step.name)
        if step.job is not None:
            own = (step.job.priority, step.name)
        elif step.flow is not None:
            inside = max(Graph(step.flow).heirs.values(), key=lambda h: h[0], default=None)
            own = own if inside is None else (inside[0], f"{step.name}.{inside[1]}")
        return behind if behind is not None and behind[0] > own[0] else own

    def heir_behind(self, name: str) -> tuple[int, str] | None:
        """Return the largest priority of the steps behind one, and whose it is; None where there are none."""
        return max((self.heirs[one] for one in self.followers.get(name, ())), key=lambda h: h[0], default=None)

    def behind(self, name: str) -> list[str]:
        """Return the steps that come after one, directly or through others; none where it is not there."""
        found: dict[str, None] = {}
        ahead = list(self.followers.get(name, ()))
        while ahead:
            one = ahead.pop()
            if one not in found:
                found[one] = None
                ahead += self.followers[one]
        return list(found)

    def forgiven(self, failed: str, ran: set[str]) -> bool:
        """Return whether a later step that a failure does not keep from running ran after a failed one."""
        seen, ahead = {failed}, [failed]
        while ahead:
            for name in self.followers[ahead.pop()]:
                if name not in seen:
                    if name in ran and RULES[self.steps[name].rule].forgives:
                        return True
                    seen.add(name)
                    ahead.append(name)
        return False


def sorted_steps(steps: Sequence[StepSpec]) -> tuple[list[StepSpec], list[StepSpec]]:
    """Return the steps so that none stands before what it waits for, and those that wait in a circle.

    Of those that may come next the one that was written first does: what is written in an order that works stays in it.
    """
    places = {step.name: place for place, step in enumerate(steps)}
    left = {step.name: len(step.after) for step in steps}
    followers: dict[str, list[str]] = {}
    for step in steps:
        for before in step.after:
            followers.setdefault(before, []).append(step.name)
    ready = [places[step.name] for step in steps if not step.after]  # ascending, so a heap
    done: list[StepSpec] = []
    while ready:
        done.append(steps[heappop(ready)])
        for follower in followers.get(done[-1].name, ()):
            left[follower] -= 1
            if not left[follower]:
                heappush(ready, places[follower])
    return done, [step for step in steps if left[step.name]]


def stands_before(steps: Mapping[str, StepSpec], name: str, other: str) -> bool:
    """Return whether a step comes before another one, directly or through others; the near ones are looked at first."""
    seen, ahead = set[str](), deque(steps[other].after)
    while ahead:
        before = ahead.popleft()
        if before == name:
            return True
        if before not in seen and before in steps:
            seen.add(before)
            ahead += steps[before].after
    return False
