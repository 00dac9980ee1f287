"""Jobs: as lists show them, one whole, what happened to it."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, UnsetType

from clearway.api.forms.base import Counts, Expected, Form, Moment, Reason, WordedReason, Words, says


class Array(Form):
    """How many jobs of an array do what."""

    indices: Annotated[str, says("its indices, as the word `array` says them")]
    jobs: Annotated[int, says("how many jobs it has in all")]
    waiting: Annotated[int, says("jobs that have not been entered yet")]
    running: Annotated[int, says("jobs that are entered and not over")]
    succeeded: Annotated[int, says("jobs that succeeded")]
    failed: Annotated[int, says("jobs that failed")]
    cancelled: Annotated[int, says("jobs that were cancelled")]
    failed_indices: Annotated[list[int], says("the indices of the first few that failed")]


class Left(Form):
    """How far a running job is, by its own word, and how much longer it takes by that and its forecast."""

    low_s: Annotated[float | None, says("seconds that 9 of 10 such runs take longer; null: nothing is known")]
    median_s: Annotated[float | None, says("seconds with even chances; null: nothing is known")]
    high_s: Annotated[float | None, says("seconds that 1 of 10 such runs takes longer; null: nothing is known")]
    step: Annotated[int | None, says("the step that it told last; null: it has told none")]
    total: Annotated[int | None, says("how many steps there are; null: it has not told")]
    told: Annotated[Moment | None, says("when it told a new step last")]


class Odd(Form):
    """What is odd about a running job."""

    kind: Annotated[str, says("`overrun`: it runs far longer than foreseen; `stalled`: it makes no progress any more")]
    since: Annotated[Moment, says("since when")]
    text: Annotated[str, says("the same with its times, as a sentence")]


class Job(Form):
    """A job as lists show it."""

    id: Annotated[int, says("its number: never given twice")]
    name: Annotated[str, says("the name it was entered with; others may have it too")]
    state: Annotated[str, says("pending, running, succeeded, failed, cancelled or refused")]
    inner_state: Annotated[str, says("as `state`, and also starting, stopping and suspended")]
    queue: Annotated[str, says("the queue it is in")]
    priority: Annotated[int, says("the larger runs sooner")]
    user: Annotated[str, says("whose it is")]
    tenant: Annotated[str, says("the tenant it counts for; empty: none")]
    submitted: Annotated[Moment, says("when it was submitted")]
    started: Annotated[Moment | None, says("when its latest attempt started")]
    ended: Annotated[Moment | None, says("when it was over")]
    stopped: Annotated[Moment | None, says("when its latest attempt was told to stop")]
    attempt: Annotated[int, says("number of the latest attempt; 0: none yet")]
    tasks: Annotated[int, says("how many tasks it asks for, or has while it runs")]
    gpus: Annotated[float, says("GPUs of all its tasks together")]
    nodes: Annotated[list[str], says("the nodes on which it holds something")]
    devices: Annotated[dict[str, list[int]], says("numbers of the devices that it holds, by node")]
    reason: Annotated[Reason | None, says("why it waits, or why it ended otherwise than succeeded")]
    exit_code: Annotated[int | None, says("with which its latest attempt ended; negative: by this signal")]
    held_by: Annotated[str | None, says("who holds it back until it is released")]
    promised: Annotated[Moment | None, says("when it starts at the latest, by its reservation")]
    left: Annotated[Left | None, says("how far it is, what is left of it; null: nothing is known, or it does not run")]
    odd: Annotated[Odd | None, says("what is odd about it while it runs; null: nothing")]
    array: Annotated[Array | None, says("of an array: how its jobs stand")]
    array_of: Annotated[int | None, says("of a job of an array: the array's number")]
    index: Annotated[int | None, says("of a job of an array: its index")]


class Need(Form):
    """What runs of the like took of a word of a job, beside what it asks for; sizes are in bytes."""

    role: Annotated[str, says("the role of whose tasks each is meant; `task` where the job has no roles")]
    word: Annotated[str, says("memory, gpu_memory, cpus or gpus")]
    asked: Annotated[float, says("so much the job asks for")]
    enough: Annotated[float, says("so much is thought to be enough")]
    most: Annotated[float, says("95 in 100 of these runs took at most that")]
    runs: Annotated[int, says("how many runs that rests on")]
    basis: Annotated[str, says("which runs these were")]
    out_of_memory: Annotated[int, says("how many of them ran out of it since one last did well with more")]
    applied: Annotated[bool, says("the job has `enough` instead of what it asks for")]
    text: Annotated[str, says("a sentence")]


class Jobs(Form):
    """A page of a list of jobs."""

    jobs: Annotated[list[Job], says("the newest first, or the oldest where that is asked for")]
    next: Annotated[str | None, says("the `cursor` with which the list goes on; null at its end")]


class Command(Form):
    """What a job runs."""

    run: Annotated[str | list[str], says("a line for a shell, or a program with its arguments")]
    workdir: Annotated[str, says("the folder in which it runs")]


class Tries(Form):
    """How often a job was tried since it was entered, or run again."""

    ended: Annotated[Counts, says("attempts by what ended them: failed, oom, timed_out, preempted, evicted, lost, ..")]
    retries: Annotated[int, says("attempts that failed by themselves")]
    max_retries: Annotated[int, says("so many retries it has after failures of its own")]
    losses: Annotated[int, says("attempts that a node's loss or an eviction ended")]
    max_losses: Annotated[int, says("so many of these it survives")]
    next_try_at: Annotated[Moment | None, says("before this moment it is not tried again")]


class Use(Form):
    """What the tasks of a job use now."""

    cpus: Annotated[float | None, says("CPUs that they keep busy; null: not known")]
    memory: Annotated[int | None, says("bytes of memory")]
    gpus: Annotated[float | None, says("part of the time that its devices work, 0 to 1, in the mean")]
    gpu_memory: Annotated[int | None, says("bytes of their memory that are taken")]


class TaskHeld(Form, kw_only=True):
    """What one task of an attempt held."""

    role: Annotated[str, says("the name of its role; `task` where the job has none")]
    index: Annotated[int, says("its number within the role")]
    node: Annotated[str, says("the node on which it was")]
    devices: Annotated[list[int], says("numbers of its devices on that node")]
    share: Annotated[int, says("thousandths of each of these devices; 0 where only memory is shared")]
    gpu_memory: Annotated[int | UnsetType, says("bytes of each device's memory, where these were asked for")] = UNSET
    from_: Annotated[Moment, says("since when")]
    to: Annotated[Moment | None, says("until when; null: it still does")]


class Used(Form):
    """What the tasks of an attempt used together."""

    cpus: Annotated[float | None, says("CPUs in the mean")]
    peak_cpus: Annotated[float | None, says("the most CPUs")]
    peak_memory: Annotated[int | None, says("the most bytes of memory")]
    gpus: Annotated[float | None, says("part of the time that its devices worked, 0 to 1")]
    peak_gpu_memory: Annotated[int | None, says("the most bytes of device memory")]
    worked: Annotated[int | None, says("on how many of its devices anything worked at all")]


class Attempt(Form):
    """One attempt."""

    number: Annotated[int, says("1 is the first")]
    from_: Annotated[Moment, says("when the least number of tasks had their places")]
    to: Annotated[Moment | None, says("when it stopped to count; null: it runs")]
    end: Annotated[str | None, says("succeeded, failed, cancelled, preempted, evicted, lost or timed_out")]
    cause: Annotated[str | None, says("a sentence, for every end but succeeded")]
    tasks: Annotated[list[TaskHeld], says("what each task held")]
    used: Annotated[Used | UnsetType, says("what they really used, where that was measured")] = UNSET


class Wait(Form):
    """A time in which a job waited for the same."""

    from_: Annotated[Moment, says("since when")]
    to: Annotated[Moment | None, says("until when; null: it still does")]
    reasons: Annotated[list[WordedReason], says("what it waited for")]


class RunTime(Form):
    """How long a job was forecast to run, from its start."""

    median_s: Annotated[float, says("seconds that it runs at most with even chances")]
    low_s: Annotated[float, says("seconds below which 1 of 10 such runs ends")]
    high_s: Annotated[float, says("seconds above which 1 of 10 such runs ends")]
    basis: Annotated[str, says("what it rests on most")]
    runs: Annotated[int, says("on how many past runs")]
    text: Annotated[str, says("a sentence")]


class JobShown(Job):
    """One job whole."""

    command: Annotated[Command | None, says("what it runs; null where its records are gone")]
    words: Annotated[Words | None, says("all its words of docs/job.md but `env`; null where its records are gone")]
    expected: Annotated[Expected | None, says("by when and where its reservation lets it start")]
    tries: Annotated[Tries | None, says("how often it was tried; null for an array")]
    use: Annotated[Use | None, says("what it uses now; null where nothing is measured")]
    attempts: Annotated[list[Attempt], says("its attempts, the first one first")]
    waits: Annotated[list[Wait], says("what it waited for, without gaps")]
    forecast: Annotated[RunTime | None, says("how long it was forecast to run; null where nobody forecast it")]
    needs: Annotated[list[Need], says("where runs of the like took other amounts than it asks for")]


class JobEvent(Form):
    """What happened to a job (docs/timeline.md)."""

    at: Annotated[Moment, says("when")]
    kind: Annotated[str, says("submitted, started, stopping, ended, reserved, resized, suspended, ..")]
    job: Annotated[str, says("the job's name")]
    attempt: Annotated[int | UnsetType, says("number of the attempt that it is about")] = UNSET
    cause: Annotated[str | UnsetType, says("why, as a sentence")] = UNSET
    state: Annotated[str | UnsetType, says("of `ended`: in which state")] = UNSET
    end: Annotated[str | UnsetType, says("of `stopping`: how the attempt will have ended")] = UNSET
    since: Annotated[Moment | UnsetType, says("of `idle`: since when its devices do nothing")] = UNSET
    more: Annotated[int | UnsetType, says("of `resized`: tasks that came")] = UNSET
    less: Annotated[int | UnsetType, says("of `resized`: tasks that went")] = UNSET
    start: Annotated[Moment | UnsetType, says("of `reserved`: when it starts at the latest")] = UNSET
    nodes: Annotated[list[str] | UnsetType, says("of `reserved`: where")] = UNSET
    median_s: Annotated[
        float | UnsetType, says("of `forecast`, `progress`: seconds that it runs at most with even chances")
    ] = UNSET
    low_s: Annotated[
        float | UnsetType, says("of `forecast`, `progress`: seconds below which 1 of 10 such runs ends")
    ] = UNSET
    high_s: Annotated[
        float | UnsetType, says("of `forecast`, `progress`: seconds above which 1 of 10 such runs ends")
    ] = UNSET
    basis: Annotated[str | UnsetType, says("of `forecast`, `progress`: what it rests on most")] = UNSET
    runs: Annotated[int | UnsetType, says("of `forecast`, `progress`: on how many past runs")] = UNSET
    text: Annotated[str | UnsetType, says("of `forecast`, `progress`: a sentence")] = UNSET
    step: Annotated[int | UnsetType, says("of `progress`: the step at which it is")] = UNSET
    total: Annotated[int | UnsetType, says("of `progress`: how many steps there are")] = UNSET


class JobEvents(Form):
    """What happened to a job."""

    events: Annotated[list[JobEvent], says("the oldest first")]


class Entered(Form):
    """A job that was entered."""

    id: Annotated[int, says("its number")]
    name: Annotated[str, says("its name")]
    warnings: Annotated[list[str], says("sentences: what keeps it from ever starting as things are")]


class AllEntered(Form):
    """Jobs that were entered."""

    jobs: Annotated[list[Entered], says("in the order in which they were sent")]


class Log(Form):
    """A piece of a log as text (`format=json`)."""

    text: Annotated[str, says("bytes that are no UTF-8 are written as escapes")]
    offset: Annotated[int, says("the byte at which it begins")]
    next: Annotated[int, says("the byte at which the next piece begins")]
    size: Annotated[int, says("bytes of the whole log by now")]
