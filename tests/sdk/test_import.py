from __future__ import annotations

import subprocess
import sys

import clearway.sdk

CPU_MS = 40  # of processor time, the interpreter's own start not counted
TRIES = 5


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_client_needs_the_standard_library_alone() -> None:
    loaded = _python(
        "import sys; before = set(sys.modules); import clearway.sdk.client; print(*set(sys.modules) - before)"
    )
    others = {name.partition(".")[0] for name in loaded.split()} - set(sys.stdlib_module_names)
    assert others == {"clearway"}
    rooms = {".".join(name.split(".")[:2]) for name in loaded.split() if name.startswith("clearway.")}
    assert rooms == {"clearway.sdk", "clearway.config", "clearway.model"}


def test_the_client_is_there_at_once() -> None:
    code = "from time import process_time as t; a = t(); import clearway.sdk.client; print((t() - a) * 1000)"
    assert min(float(_python(code)) for _ in range(TRIES)) < CPU_MS


def test_the_public_surface_is_this() -> None:
    assert sorted(clearway.sdk.__all__) == ["Client", "Job", "connect", "submit"]
    public = [name for name in dir(clearway.sdk.Client) if not name.startswith("_")]
    assert sorted(public) == [
        "advise", "ask_whatif", "at", "audit", "backup", "book", "bookings", "budgets", "bundle", "call", "call_logs",
        "calls", "cancel", "cancel_booking", "cancel_call", "cancel_flow", "cancel_search", "change_queue", "changes",
        "check_journal", "compare_policies", "connect", "cycle", "cycle_of", "devices", "drain", "end_shadow",
        "events", "flow", "flows", "forecasts", "heard_by", "history", "hold", "job", "jobs", "link", "load_ahead",
        "logs", "make_token", "nodes", "outlook", "overview", "pause_schedule", "policy", "promote", "queues",
        "release", "reload", "remove_schedule", "remove_secret", "remove_whatif", "report", "requeue", "resume",
        "resume_flow", "resume_schedule", "retry_flow", "revoke_token", "rollback", "run_flow", "run_search",
        "schedule", "schedules", "search", "searches", "secrets", "session", "set", "set_queue", "set_schedule",
        "set_secret", "shadow", "shutdown", "skip_step", "status", "submit", "suspend", "timeline", "tokens", "usual",
        "wait", "waste", "watch", "whatif", "whatif_page", "whatifs", "why", "why_call", "why_then",
    ]  # fmt: skip
    handle = [name for name in vars(clearway.sdk.Job) if not name.startswith("_")]
    assert sorted(handle) == ["cancel", "logs", "row", "state", "submit", "wait", "why"]
