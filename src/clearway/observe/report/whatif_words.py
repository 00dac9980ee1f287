"""What is said of a what-if beside its figures: what was read and changed, and how far it can be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.observe.report.numbers import MINUS, percent, plain, seconds, short, signed
from clearway.sim.results.paired import DRAWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clearway.sim.results.groups import Group
    from clearway.sim.results.verdict import Answer, Came

SECOND_US = 1_000_000
KINDS = (("queue", "queues"), ("user", "users"), ("tenant", "tenants"), ("size", "sizes"))
FAR = 0.25  # of the recorded mean: a replay that is further off is said to be
SHOWN = 5  # who wins most, and as many who lose most, of each kind


class Cast(NamedTuple):
    """Groups of one kind that are shown: those that lose most first; and how many more there are."""

    title: str
    groups: tuple[Group, ...]
    more: int


def casts(answer: Answer) -> list[Cast]:
    """Return who is shown, kind by kind; sizes in their order, and nothing of a kind with only one group."""
    found = []
    for kind, title in KINDS:
        groups = [group for group in answer.groups if group.kind == kind]
        if len(groups) > 1:
            shown = groups if kind == "size" else _extremes(groups)
            found.append(Cast(title, tuple(shown), len(groups) - len(shown)))
    return found


def _extremes(groups: Sequence[Group]) -> list[Group]:
    """Return those with the largest sums of time lost and won."""
    ordered = sorted(groups, key=lambda g: (-(g.completion["mean"] or 0.0) * g.jobs, g.name))
    return ordered if len(ordered) <= 2 * SHOWN else [*ordered[:SHOWN], *ordered[-SHOWN:]]


def change_of(group: Group) -> str:
    """Return the difference of the completion with its interval."""
    d = group.completion
    return f"{signed(short(d['mean']))} {between(d)}"


def between(d: dict[str, float | None]) -> str:
    """Return an interval."""
    return "[too few]" if d["low"] is None else f"[{signed(short(d['low']))} .. {signed(short(d['high']))}]"


def difference(answer: Answer) -> dict[str, Any]:
    """Return the difference of what would be from what is."""
    found = list(answer.found.differences.values())
    return found[0] if found else {"jobs": 0}


def summary(answer: Answer) -> str:
    """Return the answer in one sentence."""
    d = difference(answer)
    if not d["jobs"]:
        return "No job finished both ways."
    groups = [g for g in answer.groups if g.kind == "size"]
    better, worse = sum(g.better for g in groups), sum(g.worse for g in groups)
    low, high, mean = d["completion"]["low"], d["completion"]["high"], d["completion"]["mean"]
    sure = "too few jobs for an interval" if low is None else f"95 %: {signed(short(low))} to {signed(short(high))}"
    rest = d["jobs"] - better - worse
    if not (better or worse or mean):
        return f"Nothing would change for any of {d['jobs']:,} jobs: all would be over when they are."
    what = "sooner" if mean < 0 else "later"
    return (
        f"In the mean a job would be over {short(abs(mean))} {what} ({sure}). Of {d['jobs']:,} jobs {better:,} at "
        f"least a minute sooner, {worse:,} at least a minute later, {rest:,} about as before."
    )


def caveats(answer: Answer) -> list[str]:
    """Return what the answer does not know, and by what it was found."""
    said = [*_fidelity(answer), *_came(answer.came)]
    said.append(
        "Each job runs as long as it did, wherever it is placed; one that a person stopped while it waited is stopped "
        "after the same time; machines are there all the time."
    )
    found = difference(answer)
    if found["jobs"]:
        said.append(
            f"Intervals hold 95 % of {DRAWS:,} histories drawn from this one: its {found['blocks']} {found['block']}s "
            f"of jobs, drawn anew with seed {answer.seed}, the same for both sides. They say how much hangs on the "
            "luck of this past, not what another would bring."
        )
    looked = sum(len(cast.groups) + cast.more for cast in casts(answer))
    if looked:
        said.append(
            f"Of {looked} groups that nothing changes for, {plain(looked * 0.05)} would look changed by chance alone."
        )
    return [*said, *_rest(answer)]


def _fidelity(answer: Answer) -> list[str]:
    d = answer.fidelity
    if d is None:
        return [
            "How long jobs took then is not recorded, so how well the replay of things as they are meets it is unknown."
        ]
    part = d["replayed_mean"] / d["recorded_mean"] - 1 if d["recorded_mean"] else 0.0
    replayed = f"{short(d['replayed_mean'])} in the mean (median {short(d['replayed_median'])})"
    recorded = f"{short(d['recorded_mean'])} ({short(d['recorded_median'])})"
    off = signed(percent(part).replace("-", MINUS))
    far = " That is far off: it was decided otherwise then, or on other machines, than here." if abs(part) > FAR else ""
    return [f"Replayed as things are, a job takes {replayed}; recorded was {recorded}: {off}.{far}"]


def _came(came: Came) -> list[str]:
    if came.source == "none":
        why = "no time of thought is wanted" if came.think_us == 0 else "no job names its user"
        return [
            f"Every job enters when it did, as {why}: who would submit sooner after a shorter wait is not followed."
        ]
    ends = "the recorded ends" if came.source == "record" else "their ends in the replay of things as they are"
    held = f" {came.held:,} of them never came, as what they hang on did not end." if came.held else ""
    said = (
        f"{came.hang:,} of {came.jobs:,} jobs were submitted at most {seconds(came.think_us / SECOND_US)} after all of "
        f"their user's were over (by {ends}): they enter as long after that end as then. All others enter when they "
        f"did; that somebody would submit more, or something else, is not followed.{held}"
    )
    return [said]


def _rest(answer: Answer) -> list[str]:
    said = []
    for outcome in answer.found.outcomes:
        left, refused = outcome.figures["unfinished"], outcome.figures["refused"]
        if left or refused:
            said.append(
                f"{outcome.policy}: {left:,} jobs did not end and {refused:,} were refused; they are in no difference."
            )
    if answer.first:
        said.append(f"{answer.first:,} jobs before that time only fill the machines; no figure of jobs counts them.")
    return said
