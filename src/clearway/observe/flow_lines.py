"""The workflows of a timeline: the same tracks that the loop keeps, shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.flow.json_text import value_of
from clearway.flow.ticks import shown
from clearway.flow.track import ALONE, FlowTrack
from clearway.model import events as ev
from clearway.model import flow_events as fe
from clearway.model.flow import NULL
from clearway.model.states import State, StepState

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.flow.track import StepTrack
    from clearway.model.events import Record
    from clearway.model.flow import PartOf
    from clearway.model.ids import FlowId, JobId
    from clearway.model.reasons import Reason


class Run(NamedTuple):
    """One run of a workflow; `to_us` None: it goes on."""

    number: int
    from_us: int
    to_us: int | None = None
    end: State | None = None


class FlowLines:
    """A fold over records."""

    def __init__(
        self, at: Callable[[int], Any], worded: Callable[[Reason], Any], state_of: Callable[[JobId], str]
    ) -> None:
        """`at` shows a moment, `worded` a reason, `state_of` the state of a job."""
        self._at, self._worded, self._state_of = at, worded, state_of
        self._searches: dict[str, list[fe.TrialEntered]] = {}
        self._search_ends: dict[str, fe.SearchEnded] = {}
        self._tracks: dict[FlowId, FlowTrack] = {}
        self._runs: dict[FlowId, list[Run]] = {}
        self._parts: dict[JobId, tuple[FlowTrack, str, int]] = {}
        self._inner: dict[FlowId, PartOf] = {}
        self._ticks: dict[str, list[fe.Ticked]] = {}
        self._gated: dict[str, FlowTrack] = {}
        self._results: dict[JobId, str] = {}

    def apply(self, record: Record) -> None:
        """Take the next record."""
        match record:
            case ev.TaskEnded(task=task, result=result) if result and task.job in self._parts:
                self._results.setdefault(task.job, result)
            case ev.Ended(job=job, state=state) if job in self._parts:
                track, step, item = self._parts[job]
                track.part_ended(step, item, state, self._results.pop(job, ""))
            case fe.PartEntered():
                track = self._tracks[record.flow]
                track.part_entered(record)
                self._parts[record.job] = (track, record.step, record.item)
            case fe.FlowBegan(flow=flow, spec=spec, at_us=at_us):
                self._tracks[flow] = FlowTrack(flow, spec, at_us)
                self._runs[flow] = [Run(1, at_us)]
                self._entered(flow, record.part)
            case fe.FlowRerun(flow=flow, number=number, at_us=at_us):
                self._tracks[flow].again(record)
                self._runs[flow].append(Run(number, at_us))
                self._entered(flow, record.part)
            case fe.FlowEnded(flow=flow, at_us=at_us, state=state, reason=reason):
                track = self._tracks[flow]
                track.end(state, reason)
                self._runs[flow][-1] = self._runs[flow][-1]._replace(to_us=at_us, end=state)
                if flow in self._inner:
                    part = self._inner[flow]
                    given = track.outcome() if state == State.SUCCEEDED else NULL
                    self._tracks[part.flow].part_ended(part.step, part.item, state, given)
            case _:
                self._apply_step(record)

    def _entered(self, flow: FlowId, part: PartOf | None) -> None:
        if part is not None:
            self._inner[flow] = part
            self._tracks[part.flow].flow_entered(part, flow)

    def _apply_step(self, record: Record) -> None:
        match record:
            case fe.StepBegan(flow=flow, step=step, input=text, items=items):
                self._tracks[flow].step_began(step, text, items)
            case fe.LoopEnded():
                self._tracks[record.flow].loop_ended(record)
            case fe.StepAnswered():
                self._tracks[record.flow].answered(record)
            case fe.StepEnded():
                self._tracks[record.flow].step_ended(record)
            case fe.FlowStopping():
                self._tracks[record.flow].stop(record)
            case fe.StepSkipped(flow=flow, step=step, by=by):
                self._tracks[flow].skip(step, by)
            case _:
                self._apply_other(record)

    def _apply_other(self, record: Record) -> None:
        match record:
            case fe.SearchBegan(spec=spec):
                self._searches[spec.name] = []
                self._search_ends.pop(spec.name, None)
            case fe.TrialEntered():
                self._searches[record.search].append(record)
            case fe.SearchEnded():
                self._search_ends[record.search] = record
            case fe.ScheduleSet(spec=spec):
                self._ticks.setdefault(spec.name, [])
            case fe.Ticked():
                self._ticked(record)
            case fe.RunFreed(run=run) if run in self._gated:
                self._gated.pop(run).gate = ""
            case _:
                pass

    def _ticked(self, record: fe.Ticked) -> None:
        self._ticks[record.schedule].append(record)
        if record.flow is not None and record.gate:
            self._gated[record.run] = self._tracks[record.flow]
            self._tracks[record.flow].gate = record.gate

    def searches(self) -> dict[str, Any]:
        """Return the entry of each search by name."""
        return {name: self._search(name, trials) for name, trials in self._searches.items()}

    def _search(self, name: str, trials: list[fe.TrialEntered]) -> dict[str, Any]:
        end = self._search_ends.get(name)
        return {
            "state": "running" if end is None else str(end.state),
            "ended": None if end is None else self._at(end.at_us),
            "reason": end and end.reason and self._worded(end.reason),
            "trials": [
                {
                    "number": trial.number,
                    "point": value_of(trial.point),
                    "job": f"{name}.{trial.number}",
                    "state": self._state_of(trial.job),
                }
                for trial in trials
            ],
        }

    def schedules(self) -> dict[str, Any]:
        """Return the ticks of each schedule that got a run or were skipped."""
        return {name: [self._tick(record) for record in ticks] for name, ticks in self._ticks.items()}

    def _tick(self, record: fe.Ticked) -> dict[str, Any]:
        return {
            "tick": shown(record.tick_us),
            "at": self._at(record.at_us),
            "run": record.run or None,
            "skipped": self._worded(record.skipped)["text"] if record.skipped else None,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of each workflow by name; a later one of the same name carries its number."""
        found: dict[str, Any] = {}
        for flow, track in self._tracks.items():
            name = track.spec.name
            found[name if name not in found else f"{name} ({flow})"] = self.entry(flow)
        return found

    def entry(self, flow: FlowId) -> dict[str, Any]:
        """Return the entry of one workflow."""
        track, runs = self._tracks[flow], self._runs[flow]
        last = runs[-1]
        steps: dict[str, Any] = {}
        for step in [*track.steps.values(), *track.tails()]:
            if step.spec.shown:
                steps[step.spec.name] = self._step(step)
                steps.update(self._instances(step))
        return {
            "state": ("pending" if track.gate else "running") if track.state is None else str(track.state),
            "submitted": self._at(runs[0].from_us),
            "ended": None if last.to_us is None else self._at(last.to_us),
            "reason": track.reason and self._worded(track.reason),
            "runs": [self._run(run) for run in runs],
            "steps": steps,
        }

    def _run(self, run: Run) -> dict[str, Any]:
        to = None if run.to_us is None else self._at(run.to_us)
        return {"number": run.number, "from": self._at(run.from_us), "to": to, "end": run.end and str(run.end)}

    def _step(self, step: StepTrack) -> dict[str, Any]:
        return {
            "state": str(step.state),
            "input": value_of(step.input),
            "result": value_of(step.result),
            "reason": step.reason and self._worded(step.reason),
        }

    def _instances(self, step: StepTrack) -> dict[str, Any]:
        found = {}
        for item in sorted(step.instances) if step.items is not None else ():
            one = step.instances[item]
            if item != ALONE and item < step.size:
                state = one.state or (StepState.RUNNING if one.turn else StepState.PENDING)
                shown = {"state": str(state), "input": step.items[item] if step.items else None}
                found[f"{step.spec.name}[{item}]"] = {**shown, "result": value_of(one.result), "reason": None}
        return found
