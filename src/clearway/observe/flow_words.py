"""The sentences of reasons that steps, workflows, schedules and searches have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clearway.model.reasons import Code

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.observe.facts import Facts


def _step_failed(f: Facts) -> str:
    many = f.number("many")
    more = f" and others, {many} in all" if many > f.name("steps").count(",") + 1 else ""
    return f"step {f.name('steps')}{more} failed" if many <= 1 else f"steps {f.name('steps')}{more} failed"


def _loop_limit(f: Facts) -> str:
    limit = f.number("max_loops")
    return f"step {f.name('step')} reached its loop limit: {limit} passes (max_loops {limit}) and no end"


def _rule(f: Facts) -> str:
    how = [f"{f.number(key)} {key}" for key in ("failed", "skipped") if f.number(key)]
    before = f"; of the steps before it: {', '.join(how)}" if how else ""
    return f"its rule {f.name('rule')} cannot hold any more{before}"


def _condition(f: Facts) -> str:
    return f"its condition is false: {f.name('condition')}"


def _not_chosen(f: Facts) -> str:
    return f"step {f.name('step')} did not choose it"


def _not_a_list(f: Facts) -> str:
    return f"runs once for each item of the result of {f.name('step')}, which is no list"


def _not_a_follower(f: Facts) -> str:
    return f"chose {f.name('name')}, which is no step that comes directly after it"


def _too_long(f: Facts) -> str:
    limits = f"{f.number('most'):,} characters, or nested more than {f.number('deep')} times"
    return f"{f.name('what')} is longer than {limits}: put large data into a file"


def _skipped_itself(f: Facts) -> str:
    return f"had nothing to do (it exited with code {f.number('exit_code')})"


def _skipped_by(f: Facts) -> str:
    return f"was left out by {f.name('by', 'a person')}"


def _flow_over(_: Facts) -> str:
    return "its workflow was stopped before it began"


def _previous_run(f: Facts) -> str:
    return f"waits for the run {f.name('run')} of its schedule to {'succeed' if f.number('success') else 'be over'}"


def _overlap(f: Facts) -> str:
    return f"overlap: the run {f.name('run')} is still {f.name('state', 'there')}"


def _clock_change(f: Facts) -> str:
    return f"the clocks of {f.name('timezone', 'its time zone')} leave out this hour (dst: skip)"


def _excluded(f: Facts) -> str:
    return f"its day in {f.name('timezone', 'its time zone')} is excluded"


def _every_point(f: Facts) -> str:
    done, wanted = f.number("completed"), f.number("trials")
    return f"every point of the space was tried ({f.number('points')}): {done} of {wanted} trials completed"


def _trials_failed(f: Facts) -> str:
    return f"{f.number('failed')} trials failed, more than it allows (max_failed {f.number('max_failed')})"


def _no_point(f: Facts) -> str:
    return f"its sampler found no point: {f.name('error', 'it does not say why')}"


def _stopped_early(f: Facts) -> str:
    return f"stopped early by the rule {f.name('rule')}: others did better at step {f.number('step')}"


SENTENCES: dict[Code, Callable[[Facts], str]] = {
    Code.STEP_FAILED: _step_failed,
    Code.LOOP_LIMIT: _loop_limit,
    Code.RULE: _rule,
    Code.CONDITION: _condition,
    Code.NOT_CHOSEN: _not_chosen,
    Code.NOT_A_LIST: _not_a_list,
    Code.NOT_A_FOLLOWER: _not_a_follower,
    Code.TOO_LONG: _too_long,
    Code.SKIPPED_ITSELF: _skipped_itself,
    Code.FLOW_OVER: _flow_over,
    Code.SKIPPED_BY: _skipped_by,
    Code.PREVIOUS_RUN: _previous_run,
    Code.OVERLAP: _overlap,
    Code.CLOCK_CHANGE: _clock_change,
    Code.EXCLUDED: _excluded,
    Code.EVERY_POINT: _every_point,
    Code.TRIALS_FAILED: _trials_failed,
    Code.NO_POINT: _no_point,
    Code.STOPPED_EARLY: _stopped_early,
}
