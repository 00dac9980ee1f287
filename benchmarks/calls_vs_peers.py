"""Calls that do nothing, two workers: Clearway beside other systems, one after the other on this machine.

`make peers` installs those systems into `.venv-peers` (they are no part of the tests); one that is not there, or does
not run here, is named with what it said. Each is set up as its own first pages do, with calls that a kill does not
lose where it has them. Results are waited for.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import calls
from benchmarks.call_peers import HEAD, PEERS, TAIL, Peer

if TYPE_CHECKING:
    from argparse import Namespace

TITLE = "calls of functions a second, beside Celery, dramatiq, huey, Dask, Ray, DBOS and Prefect"
PYTHON = Path(__file__).resolve().parents[1] / ".venv-peers" / "bin" / "python"
LIMIT_S = 240
ONLY = tuple(PEERS)

KEYS = {
    "peers": "calls that do nothing, 2 workers, from the first call to the last result; CPU of all processes together",
    "above_durable_peers": "calls_per_s of Clearway over that of the fastest peer whose calls outlive a kill",
}


def run(args: Namespace) -> dict[str, Any]:
    """Measure all, or those that `--only` names."""
    rows = [_ours()]
    for name, peer in PEERS.items():
        if not args.only or name in args.only:
            rows.append(_row(name, peer))
    rates = [float(row["calls/s"]) for row in rows[1:] if row["durable"] != "no" and row["calls/s"] != "-"]
    return {"peers": rows, "above_durable_peers": float(rows[0]["calls/s"]) / max(rates) if rates else None}


def _ours() -> dict[str, str]:
    found = calls.only_calls()
    return _told("clearway", found["calls_per_s"], found["cpu_ms_per_call"], "yes, calls and results", "yes")


def _row(name: str, peer: Peer) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        program = Path(folder) / "program.py"
        program.write_text(HEAD + peer.program + TAIL)
        try:
            done = subprocess.run(
                [str(PYTHON), str(program), str(peer.calls), folder], capture_output=True, text=True, timeout=LIMIT_S,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return _failed(name, peer, f"{type(error).__name__}")
        line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
        if line is None:
            return _failed(name, peer, (done.stderr.strip().splitlines() or ["it said nothing"])[-1])
        took_s, cpu_s = map(float, line.split()[1:])
        return _told(name, peer.calls / took_s, cpu_s * 1000 / peer.calls, peer.durable, peer.batched)


def _told(name: str, rate: float, cpu_ms: float, durable: str, batched: str) -> dict[str, str]:
    return {"system": name, "calls/s": f"{rate:.0f}", "CPU ms": f"{cpu_ms:.2f}", "durable": durable, "batched": batched}


def _failed(name: str, peer: Peer, why: str) -> dict[str, str]:
    return {
        "system": name,
        "calls/s": "-",
        "CPU ms": "-",
        "durable": peer.durable,
        "batched": f"did not run: {why:.60}",
    }
