"""The past of a Kubernetes cluster: `kubectl get jobs,pods,events -A -o json` (or yaml), any part of it.

A Job tells when it entered, what it asks for and when it was over; its pods, when its processes really ran and how they
ended; events, when pods that are gone were placed. What is kept grows with the jobs, not with the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.interop.documents import is_json, objects
from clearway.interop.importing import Past, Source
from clearway.interop.kubernetes_jobs import Known, Owner, Ran, job_of, loose_of
from clearway.interop.kubernetes_values import fields, listed, moment, needs, number, text
from clearway.model.errors import InputError
from clearway.sim.workloads.textfile import head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clearway.interop.gaps import Gaps
    from clearway.interop.importing import Options
    from clearway.sim.workloads.textfile import Head

STANDING = frozenset({"ReplicaSet", "DaemonSet", "StatefulSet", "Node", "ReplicationController", "Deployment"})
"""Owners whose pods are no jobs: they run until somebody takes them away."""
TAKEN = frozenset({"Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity"})
TAKEN_CONDITION = "DisruptionTarget"
MADE = "Created pod: "
QUEUE_LABELS = ("kueue.x-k8s.io/queue-name", "scheduling.volcano.sh/queue-name", "volcano.sh/queue-name", "queue")
USER_LABELS = ("user", "owner", "created-by", "app.kubernetes.io/created-by")
LACKS = (
    "who submitted a job: taken from its label user or owner, where it has one",
    "limits of queues and dependencies between jobs",
)


class _Event(NamedTuple):
    """What events tell of a pod: whose it was, when it was placed."""

    owner: Owner | None
    at_us: int | None


@dataclass
class _Cluster:
    """What has been read of a cluster so far."""

    jobs: dict[Owner, Known] = field(default_factory=dict)
    ran: dict[Owner, list[Ran]] = field(default_factory=dict)
    events: dict[tuple[str, str], _Event] = field(default_factory=dict)


def _matches(head: Head) -> bool:
    top = "\n".join(head.lines)
    return "apiVersion" in top and ("kind" in top or "items" in top)


def _read(path: Path, options: Options, gaps: Gaps, told: Callable[[int], None]) -> Iterator[Past]:
    for what in LACKS:
        gaps.lack(what)
    cluster = _Cluster()
    for line, raw in objects(path, told, as_json=is_json(head(path))):
        try:
            _take(cluster, line, raw, options, gaps)
        except InputError as error:
            gaps.refuse(line, error)
    yield from _jobs(cluster, gaps)


def _jobs(cluster: _Cluster, gaps: Gaps) -> Iterator[Past]:
    placed: dict[Owner, int] = {}
    for owner, at_us in cluster.events.values():
        if owner is not None and at_us is not None:
            placed[owner] = min(at_us, placed.get(owner, at_us))
    for owner in [*cluster.jobs, *(one for one in cluster.ran if one not in cluster.jobs)]:
        known, ran = cluster.jobs.get(owner), cluster.ran.get(owner, [])
        try:
            job = loose_of(owner, ran, gaps) if known is None else job_of(known, ran, placed.get(owner), gaps)
        except InputError as error:
            gaps.refuse(known.line if known is not None else ran[0].line, error)
            continue
        if job is not None:
            yield job


def _take(cluster: _Cluster, line: int, raw: dict[str, Any], options: Options, gaps: Gaps) -> None:
    match _kind(raw):
        case "Job":
            known = _known(line, raw, options, gaps)
            cluster.jobs[known.owner] = known
        case "Pod":
            _pod(cluster, line, raw, options, gaps)
        case "Event":
            _event(cluster, raw)
        case kind:
            gaps.leave(f"objects of kind {kind} (Jobs, Pods and Events are read)")


def _kind(raw: dict[str, Any]) -> str:
    """Return what an object is; those of a raw JobList or PodList do not say, but look like one."""
    kind = text(raw, "kind")
    if not kind:
        looks = {"Event": raw.get("involvedObject"), "Job": fields(raw, "spec", "template", "spec")}
        looks["Pod"] = fields(raw, "spec", "containers")
        return next((name for name, seen in looks.items() if seen), "unknown")
    other = kind == "Job" and not text(raw, "apiVersion").startswith("batch/")
    return text(raw, "apiVersion")[:60] + " Job" if other else kind[:60]


def _owner(raw: dict[str, Any]) -> Owner:
    name = text(raw, "metadata", "name")
    if not name:
        raise InputError("metadata.name", fields(raw, "metadata", "name") or None, "the name of an object")
    return Owner(text(raw, "metadata", "namespace") or "default", "Job", name)


def _words(raw: dict[str, Any], namespace: str, options: Options) -> dict[str, object]:
    labels = fields(raw, "metadata", "labels")
    queue = _first(labels, QUEUE_LABELS) if options.queue_by != "namespace" else ""
    words: dict[str, object] = {"queue": queue or namespace, "tenant": namespace}
    user = _first(labels, USER_LABELS)
    return words | ({"user": user} if user else {})


def _first(labels: object, keys: tuple[str, ...]) -> str:
    return next((found for key in keys if (found := text(labels, key))), "")


def _known(line: int, raw: dict[str, Any], options: Options, gaps: Gaps) -> Known:
    owner = _owner(raw)
    at_us = moment(raw, "metadata", "creationTimestamp")
    if at_us is None:
        raise InputError("metadata.creationTimestamp", None, "when it was made")
    words = _words(raw, owner.namespace, options)
    words |= needs(fields(raw, "spec", "template", "spec"), gaps)
    limit_s = number(raw, "spec", "activeDeadlineSeconds")
    words |= {} if limit_s is None else {"time_limit": limit_s}
    words |= _priority(fields(raw, "spec", "template", "spec"))
    over = [one for one in listed(raw, "status", "conditions") if one.get("status") == "True"]
    done = next((one for one in over if one.get("type") in ("Complete", "Failed")), None)
    ended_us = moment(raw, "status", "completionTime")
    if ended_us is None and done is not None:
        ended_us = moment(done, "lastTransitionTime")
    return Known(
        owner, line, at_us, words, moment(raw, "status", "startTime"), ended_us,
        done is not None and done.get("type") == "Failed",
        number(raw, "spec", "parallelism") or 1, number(raw, "spec", "completions"),
    )  # fmt: skip


def _priority(spec: object) -> dict[str, object]:
    value = number(spec, "priority")
    return {} if value is None else {"priority": value}


def _pod(cluster: _Cluster, line: int, raw: dict[str, Any], options: Options, gaps: Gaps) -> None:
    own = _owner(raw)
    above = next((one for one in listed(raw, "metadata", "ownerReferences") if text(one, "kind")), {})
    if text(above, "kind") in STANDING:
        gaps.leave("pods of services and of the cluster itself")
        return
    owner = Owner(own.namespace, text(above, "kind") or "Pod", text(above, "name") or own.name)
    if fields(raw, "status", "phase") not in ("Succeeded", "Failed"):
        gaps.leave("pods that are not over")
        return
    start_us, end_us, code = _ran(raw)
    if end_us is None:
        gaps.leave("pods that do not tell when they ran")
        return
    spec = fields(raw, "spec")
    taken = text(raw, "status", "reason") in TAKEN or any(
        one.get("type") == TAKEN_CONDITION and one.get("status") == "True"
        for one in listed(raw, "status", "conditions")
    )
    made_us = moment(raw, "metadata", "creationTimestamp")
    words = {**_words(raw, own.namespace, options), **needs(spec, gaps), **_priority(spec)}
    first_us = start_us if start_us is not None else end_us
    ran = Ran(line, made_us if made_us is not None else first_us, first_us, end_us, code, words, taken=taken)
    cluster.ran.setdefault(owner, []).append(ran)


def _ran(raw: dict[str, Any]) -> tuple[int | None, int | None, int]:
    """Return when the containers of a pod began and ended, and the first exit code that is none of success."""
    start_us, end_us = moment(raw, "status", "startTime"), None
    starts, code = list[int](), 0
    for one in listed(raw, "status", "containerStatuses"):
        over = fields(one, "state", "terminated")
        began_us, finished_us = moment(over, "startedAt"), moment(over, "finishedAt")
        starts += [] if began_us is None else [began_us]
        end_us = finished_us if end_us is None else max(end_us, finished_us or end_us)
        code = code or number(over, "exitCode") or 0
    if fields(raw, "status", "phase") == "Failed":
        code = code or 1
    return min(starts, default=start_us), end_us, code


def _event(cluster: _Cluster, raw: dict[str, Any]) -> None:
    about = fields(raw, "involvedObject") or fields(raw, "regarding")
    namespace, kind, name = text(about, "namespace") or "default", text(about, "kind"), text(about, "name")
    said = text(raw, "message") or text(raw, "note")
    if kind == "Job" and said.startswith(MADE):
        key = (namespace, said.removeprefix(MADE))
        before = cluster.events.get(key, _Event(None, None))
        cluster.events[key] = before._replace(owner=Owner(namespace, "Job", name))
    elif kind == "Pod" and raw.get("reason") in ("Scheduled", "Started"):
        key = (namespace, name)
        before = cluster.events.get(key, _Event(None, None))
        at_us = moment(raw, "firstTimestamp") or moment(raw, "eventTime")
        cluster.events[key] = before._replace(at_us=at_us if before.at_us is None else max(before.at_us, at_us or 0))


KUBERNETES = Source("kubernetes", "Kubernetes' Jobs, Pods and Events (JSON, YAML)", _matches, _read)
