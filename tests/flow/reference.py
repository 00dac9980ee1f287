"""What a workflow comes to, worked out from its words alone: slow, plain, and without the product's code."""

from __future__ import annotations

from typing import Any

FAILED = ("failed", "upstream_failed", "cancelled")
ALLOWS = ("all_done", "all_failed", "one_failed", "one_succeeded")


def holds(rule: str, ends: list[str]) -> bool:
    """Return whether a rule holds over how the steps before one ended."""
    ok = [e == "succeeded" for e in ends]
    bad = [e in FAILED for e in ends]
    if not ends:
        return True
    return {
        "all_succeeded": all(ok),
        "all_done": True,
        "all_failed": all(bad),
        "one_succeeded": any(ok),
        "one_failed": any(bad),
        "none_failed": not any(bad),
        "none_failed_min_one_success": any(ok) and not any(bad),
    }[rule]


def come_to(steps: list[dict[str, Any]], handed: Any = None, left_out: str = "") -> dict[str, Any]:
    """Return state, result, input and starts of each step, the state of the run, its result and what it took back.

    Steps stand in order; `handed` is what the first ones have as their input; a person has `left_out` one of them.
    """
    done: dict[str, dict[str, Any]] = {}
    skipped_by_choice: set[str] = set()
    for step in steps:
        name = step["name"]
        before = [done[b] for b in befores(step)]
        ends = [b["state"] for b in before]
        entry: dict[str, Any] = {"state": "", "result": None, "input": None, "starts": 0}
        done[name] = entry
        if name == left_out or name in skipped_by_choice:
            entry["state"] = "skipped"
        elif not holds(step.get("rule", "all_succeeded"), ends):
            entry["state"] = "upstream_failed" if any(e in FAILED for e in ends) else "skipped"
        elif "when" in step and not true(step["when"], done):
            entry["state"] = "skipped"
        elif "each" in step:
            run_each(step, entry, done)
        else:
            results = [b["result"] for b in before]
            entry["input"] = results[0] if len(before) == 1 else results if before else handed
            run_inner(step, entry) if "workflow" in step else run_alone(step, entry)
        if entry["state"] == "succeeded" and "choose" in step:
            behind = [s["name"] for s in steps if name in befores(s)]
            skipped_by_choice |= set(behind) - set(step["choose"])
    state = run_state(steps, done)
    last = [done[s["name"]]["result"] for s in steps if not any(s["name"] in befores(other) for other in steps)]
    undone = [s["name"] for s in reversed(steps) if "undo" in s and done[s["name"]]["state"] == "succeeded"]
    return {
        "steps": done, "state": state, "result": last[0] if len(last) == 1 else last,
        "undone": undone if state == "failed" else [],
    }  # fmt: skip


def befores(step: dict[str, Any]) -> list[str]:
    found = list(step.get("after", []))
    if isinstance(step.get("each"), str) and step["each"] not in found:
        found.append(step["each"])
    return found


def true(condition: tuple[str, str, int], done: dict[str, dict[str, Any]]) -> bool:
    """Return what `step.x sign number` says; a result without x is null."""
    name, sign, number = condition
    result = done[name]["result"]
    value = result.get("x") if isinstance(result, dict) else None
    if sign == "==":
        return bool(value == number)
    if value is None:
        return False
    return bool(value < number) if sign == "<" else bool(value >= number)


def run_each(step: dict[str, Any], entry: dict[str, Any], done: dict[str, dict[str, Any]]) -> None:
    items = done[step["each"]]["result"] if isinstance(step["each"], str) else step["each"]
    if items is not None and not isinstance(items, list):
        entry["state"] = "failed"
        return
    entry["input"] = items if items is not None else None
    outcomes = step.get("outcomes", [])
    states, results = [], []
    for i, item in enumerate(items or []):
        state = outcomes[i] if i < len(outcomes) else "succeeded"
        entry["starts"] += 1
        states.append(state)
        results.append(step.get("returns", item) if state == "succeeded" else None)
    entry["result"] = results
    entry["state"] = "succeeded"
    if "failed" in states:
        entry["state"] = "failed"
    elif states and set(states) == {"skipped"}:
        entry["state"] = "skipped"


def run_inner(step: dict[str, Any], entry: dict[str, Any]) -> None:
    inner = entry["inner"] = come_to(step["workflow"]["steps"], entry["input"])
    entry["state"] = inner["state"]
    entry["result"] = inner["result"] if inner["state"] == "succeeded" else None


def run_alone(step: dict[str, Any], entry: dict[str, Any]) -> None:
    wanted, most = step.get("until", 1), step.get("max_loops", 1000)
    if step.get("exit_code"):
        entry["starts"], entry["state"] = 1 + step.get("max_retries", 0), "failed"
        return
    passes = min(wanted, most)
    entry["starts"] = passes
    entry["result"] = step.get("returns")
    entry["state"] = "succeeded" if wanted <= most else "failed"


def run_state(steps: list[dict[str, Any]], done: dict[str, dict[str, Any]]) -> str:
    """Return failed if a step failed and none behind it that allows failures ran."""
    for step in steps:
        if done[step["name"]]["state"] != "failed":
            continue
        behind = {step["name"]}
        for other in steps:
            if behind & set(befores(other)):
                behind.add(other["name"])
        ran = [
            s
            for s in steps
            if s["name"] in behind - {step["name"]}
            and s.get("rule", "all_succeeded") in ALLOWS
            and done[s["name"]]["state"] in ("succeeded", "failed")
        ]
        if not ran:
            return "failed"
    return "succeeded"
