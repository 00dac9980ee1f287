"""Small lies: what is expected, or what is shown, made wrong in one place. A judge must see each."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Raw = dict[str, Any]
FAR_S = 10**6  # later than anything in a scenario


# --- expectations ------------------------------------------------------------------------------------


def of_expect(expect: Raw) -> Iterator[tuple[str, Raw]]:
    """Yield (what is changed, changed expectation); each is wrong where the given one is right."""
    for key, value in expect.items():
        for label, wrong in _MUTATE.get(key, _nothing)(value):
            yield f"{key} {label}", {key: wrong, **({"slack": expect["slack"]} if "slack" in expect else {})}


def _nothing(_: Any) -> Iterator[tuple[str, Any]]:
    yield from ()


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    found = copy.deepcopy(value)
    at = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = new
    return found


def _windows(value: Raw) -> Iterator[tuple[str, Raw]]:
    for name, (a, b) in value.items():
        yield f"{name} later", _with(value, (name,), [b + FAR_S, b + FAR_S + 1])
        if a > 0:
            yield f"{name} earlier", _with(value, (name,), [0, a / 2])
    yield "of nobody", {**value, "nobody": [0, FAR_S]}


def _final(value: Raw) -> Iterator[tuple[str, Raw]]:
    for name in value:
        yield f"{name}", _with(value, (name,), "upstream_failed")
    yield "of nobody", {**value, "nobody": "succeeded"}


def _counts(value: Raw) -> Iterator[tuple[str, Raw]]:
    for name, n in value.items():
        most = n[1] if isinstance(n, list) else n
        yield f"{name} more", _with(value, (name,), most + 1)
        yield f"{name} none", _with(value, (name,), [most + 1, most + 9])


def _names(value: Raw) -> Iterator[tuple[str, Raw]]:
    for name, places in value.items():
        more = ["nowhere"] if all(isinstance(p, str) for p in places) else [99]
        yield f"{name} more", _with(value, (name,), [*places, *more])
        yield f"{name} none", _with(value, (name,), [])


def _order(value: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    rows = value if isinstance(value[0], list) else [value]
    yield "with nobody", [*rows, [rows[0][0], "nobody"]]


def _after(value: list[Raw]) -> Iterator[tuple[str, list[Raw]]]:
    for i, row in enumerate(value):
        yield f"{i} turned round", _with(value, (i,), {"job": row["after"], "after": row["job"]})
        yield f"{i} of nobody", _with(value, (i,), {**row, "after": "nobody"})


def _running(value: list[Raw]) -> Iterator[tuple[str, list[Raw]]]:
    for i in range(len(value)):
        yield f"{i} too many", _with(value, (i, "count"), FAR_S)


def _use(value: list[Raw]) -> Iterator[tuple[str, list[Raw]]]:
    for i, row in enumerate(value):
        for res in row.keys() - {"queue", "node", "limit", "from", "to"}:
            most = "999Ti" if res in ("memory", "gpu_memory", "disk") else 10**5
            yield f"{i} {res} more", _with(value, (i, res), {"min": most})


def _reason(value: Raw) -> Iterator[tuple[str, Raw]]:
    for name, rule in value.items():
        wrong = {**rule, "mentions": ["xyzzy"]} if isinstance(rule, dict) else [*rule, ["xyzzy", "plugh"]]
        yield f"{name} other words", _with(value, (name,), wrong)


def _refused(value: list[str]) -> Iterator[tuple[str, list[str]]]:
    yield "nobody", [*value, "nobody"]


def _preempted(value: Raw) -> Iterator[tuple[str, Raw]]:
    if "exactly" in value:
        yield "exactly others", {"exactly": [*value["exactly"], "nobody"]}
        if value["exactly"]:
            yield "never these", {"never": value["exactly"]}
            yield "at most none each", {"max_each": 0}
            yield "none in all", {"total_max": 0}
    yield "many", {"count": FAR_S}


_MUTATE: dict[str, Callable[[Any], Iterator[tuple[str, Any]]]] = {
    "starts": _windows, "ends": _windows, "final": _final, "attempts": _counts, "runs": _counts, "placed": _names,
    "devices": _names, "distinct_devices": _counts, "order": _order, "after": _after, "running": _running, "use": _use,
    "reason": _reason, "refused": _refused, "preempted": _preempted,
}  # fmt: skip


# --- timelines ---------------------------------------------------------------------------------------


def of_timeline(scenario: Raw, shown: Raw) -> Iterator[tuple[str, str, Raw]]:
    """Yield (what is changed, rule that must see it, changed timeline) for each lie that can be told about it."""
    for label, (rule, lie) in LIES.items():
        told = copy.deepcopy(shown)
        if lie(scenario, told):
            yield label, rule, told


def _jobs(shown: Raw, *states: str) -> Iterator[tuple[str, Raw]]:
    for name, job in shown["jobs"].items():
        if job["attempts"] and (not states or job["state"] in states):
            yield name, job


def _tasks(shown: Raw) -> Iterator[tuple[Raw, Raw, Raw]]:
    for _name, job in _jobs(shown):
        for a in job["attempts"]:
            yield from ((job, a, t) for t in a["tasks"])


def _two_at_once(shown: Raw) -> tuple[Raw, Raw] | None:
    """Two tasks of different jobs that hold whole devices at the same time."""
    whole = [
        (j, t) for j, _, t in _tasks(shown) if t["share"] == 1000 and len(t["devices"]) == 1 and t["from"] != t["to"]
    ]
    for i, (a, x) in enumerate(whole[:200]):
        for b, y in whole[i + 1 : i + 200]:
            if a is not b and x["from"] < (y["to"] or FAR_S) and y["from"] < (x["to"] or FAR_S):
                return x, y
    return None


def _same_device(_: Raw, shown: Raw) -> bool:
    found = _two_at_once(shown)
    if found:
        found[1].update(node=found[0]["node"], devices=found[0]["devices"])
    return bool(found)


def _first_task(change: Callable[[Raw], None], *, devices: bool = False) -> Callable[[Raw, Raw], bool]:
    def lie(_: Raw, shown: Raw) -> bool:
        for _, _, t in _tasks(shown):
            if t["from"] != t["to"] and (t["devices"] or not devices):
                change(t)
                return True
        return False

    return lie


def _too_much_memory(scenario: Raw, shown: Raw) -> bool:
    """Ten of the same task on a node that says how much it has."""
    sized = {n["name"] for n in scenario["fleet"].get("nodes") or [] if "cpus" in n and "count" not in n}
    asked = {j["name"]: j for j in scenario.get("jobs") or []}
    for name, job in _jobs(shown):
        for a in job["attempts"]:
            if a["tasks"][0]["node"] in sized and asked.get(name, {}).get("cpus") and a["from"] != a["to"]:
                a["tasks"] = [copy.deepcopy(a["tasks"][0]) for _ in range(1000)]
                return True
    return False


def _second_too_early(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown):
        if len(job["attempts"]) > 1 and job["attempts"][0]["from"] != job["attempts"][0]["to"]:
            first, second = job["attempts"][:2]
            second["from"] = (first["from"] + first["to"]) / 2
            for t in second["tasks"]:
                t["from"] = second["from"]
            return True
    return False


def _attempt_twice(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown, "succeeded"):
        job["attempts"].append(copy.deepcopy(job["attempts"][-1]))
        return True
    return False


def _number_skipped(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown):
        job["attempts"][-1]["number"] += 1
        return True
    return False


def _wait_dropped(_: Raw, shown: Raw) -> bool:
    for job in shown["jobs"].values():
        if any((w["to"] or FAR_S) - w["from"] > 0.01 for w in job["waits"]):
            job["waits"] = []
            return True
    return False


def _wait_silent(_: Raw, shown: Raw) -> bool:
    for job in shown["jobs"].values():
        for w in job["waits"]:
            if (w["to"] or FAR_S) - w["from"] > 0.01:
                w["reasons"] = [{"code": "no-capacity", "text": " "}]
                return True
    return False


def _wait_short(_: Raw, shown: Raw) -> bool:
    for job in shown["jobs"].values():
        for w in job["waits"]:
            if w["to"] and w["to"] - w["from"] > 0.1:
                w["to"] = w["to"] - 0.05
                return True
    return False


def _start_without_cause(_: Raw, shown: Raw) -> bool:
    for e in shown["events"]:
        if e["kind"] == "started":
            e["cause"] = None
            return True
    return False


def _end_without_cause(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown):
        for a in job["attempts"]:
            if a["end"] not in (None, "succeeded"):
                a["cause"] = None
                return True
    return False


def _refused_in_silence(_: Raw, shown: Raw) -> bool:
    for job in shown["jobs"].values():
        if job["state"] == "refused":
            job["reason"] = None
            return True
    return False


def _success_undone(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown, "succeeded"):
        job.update(state="running", ended=None)
        return True
    return False


def _ended_is_open(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown, "succeeded", "failed", "cancelled"):
        job["ended"] = None
        return True
    return False


def _ended_twice(_: Raw, shown: Raw) -> bool:
    for e in shown["events"]:
        if e["kind"] == "ended":
            shown["events"].append({**e, "at": e["at"] + 1})
            return True
    return False


def _before_submit(scenario: Raw, shown: Raw) -> bool:
    late = {
        j["name"] for j in scenario.get("jobs") or [] if isinstance(j.get("submit"), int | float) and j["submit"] > 0.5
    }
    for name, job in _jobs(shown):
        if name in late:
            a = job["attempts"][0]
            a["from"] = job["submitted"] - 0.5
            for t in a["tasks"]:
                t["from"] = a["from"]
            return True
    return False


def _holds_after_end(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown, "succeeded"):
        job["attempts"][-1]["tasks"][0]["to"] = job["ended"] + 5
        return True
    return False


def _holds_for_ever(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown, "failed", "cancelled", "succeeded"):
        job["attempts"][-1]["tasks"][0]["to"] = None
        return True
    return False


def _task_dropped(scenario: Raw, shown: Raw) -> bool:
    elastic = [job["name"] for job in scenario["jobs"] if "min_tasks" in job]
    for name, job in _jobs(shown):
        a = job["attempts"][-1]
        rigid = name not in elastic and name.rpartition("-")[0] not in elastic
        if rigid and len(a["tasks"]) > 1 and a["from"] != a["to"]:
            a["tasks"].pop()
            return True
    return False


def _no_tasks(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown):
        job["attempts"][-1]["tasks"] = []
        return True
    return False


def _starts_before_tasks(_: Raw, shown: Raw) -> bool:
    for _name, job in _jobs(shown):
        a = job["attempts"][-1]
        if a["from"] != a["to"] and not a["from"] < job["submitted"] + 0.25:
            a["from"] -= 0.25
            return True
    return False


def _done_early(scenario: Raw, shown: Raw) -> bool:
    """A success that took half its time."""
    plain = {
        j["name"] for j in scenario.get("jobs") or [] if isinstance(j.get("runtime"), int | float) and j["runtime"] > 1
    }
    for name, job in _jobs(shown, "succeeded"):
        a = job["attempts"][-1]
        if name in plain and len(job["attempts"]) == 1:
            a["to"] = job["ended"] = (a["from"] + a["to"]) / 2
            for t in a["tasks"]:
                t["to"] = a["to"]
            return True
    return False


def _failure_called_success(scenario: Raw, shown: Raw) -> bool:
    asked = {j["name"]: j for j in scenario.get("jobs") or []}
    for name, job in _jobs(shown, "failed"):
        a = job["attempts"][-1]
        code = asked.get(name, {}).get("exit_code", 0)
        if a["end"] == "failed" and isinstance(code, int) and code:
            a["end"] = job["state"] = "succeeded"
            return True
    return False


def _called_preempted(scenario: Raw, shown: Raw) -> bool:
    if (scenario.get("policy") or {}).get("preempt"):
        return False
    for _name, job in _jobs(shown, "failed", "cancelled"):
        job["attempts"][-1].update(end="preempted", cause="made room")
        shown["summary"].pop("preemptions", None)
        return True
    return False


def _job_dropped(_: Raw, shown: Raw) -> bool:
    for name in shown["jobs"]:
        del shown["jobs"][name]
        return True
    return False


def _after_forgotten(scenario: Raw, shown: Raw) -> bool:
    for j in scenario.get("jobs") or []:
        if j.get("after") and shown["jobs"].get(j["name"], {}).get("attempts"):
            first = shown["jobs"][j["after"][0]]
            first["state"] = "failed"
            first["attempts"][-1]["end"], first["attempts"][-1]["cause"] = "failed", "exited with code 1"
            first["reason"] = {"code": "exited", "text": "exited with code 1"}
            return True
    return False


def _negative(_: Raw, shown: Raw) -> bool:
    shown["summary"]["gpu_use"] = -0.1
    return True


def _not_a_number(_: Raw, shown: Raw) -> bool:
    shown["summary"]["mean_wait"] = math.nan
    return True


def _one_preemption_more(_: Raw, shown: Raw) -> bool:
    stops = sum(a["end"] == "preempted" for _name, job in _jobs(shown) for a in job["attempts"])
    shown["summary"]["preemptions"] = stops + 1
    return True


LIES: dict[str, tuple[str, Callable[[Raw, Raw], bool]]] = {
    "two jobs on one device": ("capacity", _same_device),
    "on a node that is not there": ("capacity", _first_task(lambda t: t.update(node="nowhere"))),
    "on a device that is not there": ("capacity", _first_task(lambda t: t.update(devices=[99]), devices=True)),
    "more than the node has": ("capacity", _too_much_memory),
    "a share above one": ("sums", _first_task(lambda t: t.update(share=1001), devices=True)),
    "a device twice": ("sums", _first_task(lambda t: t.update(devices=[t["devices"][0]] * 2), devices=True)),
    "a negative number": ("sums", _negative),
    "not a number": ("sums", _not_a_number),
    "one preemption more": ("sums", _one_preemption_more),
    "holds after its end": ("sums", _holds_after_end),
    "holds for ever": ("sums", _holds_for_ever),
    "starts before its tasks": ("sums", _starts_before_tasks),
    "an attempt without tasks": ("sums", _no_tasks),
    "a gang with a task too few": ("gang", _task_dropped),
    "a second attempt before the first ends": ("once", _second_too_early),
    "an attempt twice": ("once", _attempt_twice),
    "a number skipped": ("once", _number_skipped),
    "a success undone": ("once", _success_undone),
    "over without an end": ("once", _ended_is_open),
    "ended twice": ("once", _ended_twice),
    "preempted against the policy": ("calm", _called_preempted),
    "a wait without reasons": ("why", _wait_dropped),
    "a reason without words": ("why", _wait_silent),
    "a wait with a gap": ("why", _wait_short),
    "a start without a cause": ("why", _start_without_cause),
    "an end without a cause": ("why", _end_without_cause),
    "refused in silence": ("why", _refused_in_silence),
    "a share that was not asked for": (
        "asked",
        _first_task(lambda t: t.update(share=t["share"] // 2 + 1), devices=True),
    ),
    "before its submit": ("asked", _before_submit),
    "before what it waits for": ("asked", _after_forgotten),
    "a job that is not shown": ("asked", _job_dropped),
    "done in half the time": ("work", _done_early),
    "a failure called success": ("work", _failure_called_success),
}
"""Each lie, and the rule that names it."""
