"""Whose priority a job inherits: that of those who wait for it to succeed, or for a slot that it holds.

Through any number of jobs: who waits for a slot for the sake of another lends what it has from that one.
Source: Sha, Rajkumar, Lehoczky, Priority inheritance protocols, IEEE Transactions on Computers 39, 1990.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearway.loop.entry import JobEntry
    from clearway.loop.state import WorldState
    from clearway.model.ids import JobId


def inherit(state: WorldState, job: JobId, now_us: int) -> None:
    """Work out anew what a job inherits, and what follows for those that it waits for."""
    changed = [job]
    while changed:
        entry = state.jobs.get(changed.pop())
        if entry is None or (heir := heir_of(state, entry)) == entry.heir:
            continue
        entry.heir = heir
        if entry.cls is not None:
            state.lenders.join(entry)
            changed += _borrowers(state, entry)
            state.view.change(state.waiting(entry), now_us)
        elif entry.id in state.view.running:
            state.view.reprioritise(entry.id, state.priority(entry))
        changed += sorted(entry.after, reverse=True)
        if entry.id in state.arrays:
            changed += state.arrays[entry.id].live


def outranked(state: WorldState, entry: JobEntry) -> list[JobId]:
    """Return the jobs that an entry waits for and that stand below it: only they can inherit from it."""
    return [job for job in sorted(entry.after) if job in state.jobs and state.jobs[job].heir[0] < entry.heir[0]]


def lend_anew(state: WorldState, entry: JobEntry, now_us: int) -> None:
    """Work out anew what the holders of slots inherit: a job joined or left the line for them, took or gave some."""
    for job in _borrowers(state, entry) if entry.spec.uses else ():
        inherit(state, job, now_us)


def _borrowers(state: WorldState, entry: JobEntry) -> list[JobId]:
    """Return the jobs that hold slots which a job uses, where such loans count."""
    return sorted(state.lenders.holders(entry.spec.uses), reverse=True) if state.policy.priority_inheritance else []


def heir_of(state: WorldState, entry: JobEntry) -> tuple[int, str]:
    """Return the largest priority among a job and those that wait for it or for its slots, and whose it is."""
    heirs = [other.heir for other in state.waiting_for(entry.id)]
    if entry.spec.uses and (first := state.lenders.first(entry)) is not None:
        heirs.append(state.jobs[first].heir)
    if entry.array is not None and (array := state.jobs[entry.array]).heir[0] > array.spec.priority:
        heirs.append(array.heir)
    best = max(heirs, key=lambda heir: heir[0], default=(entry.spec.priority, ""))
    if entry.floor is not None and entry.floor[0] > best[0]:
        best = entry.floor
    return best if best[0] > entry.spec.priority else (entry.spec.priority, entry.spec.name)
