"""A run of a workflow, as Python holds it."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from clearway.model.errors import ClearwayError, FlowError, LoopLimitError
from clearway.sdk.flows.build import Ref
from clearway.sdk.flows.plain import from_plain
from clearway.sdk.flows.told import culprit

if TYPE_CHECKING:
    from clearway.sdk.client import Client

OVER = frozenset({"succeeded", "failed", "cancelled"})
MOST_SAID = 2000
"""Bytes of what a job wrote that are looked at for its last line."""
LOOK_S = (0.05, 0.1, 0.2, 0.5)
"""Pauses between looks; the last one repeats."""


class FlowRun:
    """One run. It asks the controller each time; it remembers its number and what its function returned."""

    def __init__(self, client: Client, number: int, given: Any) -> None:  # noqa: ANN401  a result with Refs in it
        """Hold workflow `number` of the controller behind `client`."""
        self._client, self.id, self._given = client, number, given
        self._told_asks: set[str] = set()

    def __repr__(self) -> str:
        return f"<FlowRun {self.id}>"

    @property
    def row(self) -> dict[str, Any]:
        """What is shown of it now, with its `steps`."""
        return self._client.flow(f"id:{self.id}")

    @property
    def state(self) -> str:
        """Where it stands: pending, running, succeeded, failed or cancelled."""
        return str(self.row["state"])

    def waiting(self) -> list[dict[str, Any]]:
        """Return the steps that wait for a person, each with what it asks (`pause`) and its `input`."""
        return [step for step in self.row["steps"] if step["pause"]]

    def resume(self, value: object, step: str | None = None) -> None:
        """Answer the step that waits for a person."""
        self._client.resume_flow(f"id:{self.id}", value, step)

    def retry(self) -> None:
        """Run it again from what has succeeded on."""
        self._client.retry_flow(f"id:{self.id}")

    def cancel(self) -> None:
        """Stop what runs of it, and let nothing else of it start."""
        self._client.cancel_flow(f"id:{self.id}")

    def wait(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Return its row once it is over. TimeoutError: it is not after `timeout_s` seconds."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        looks = iter(LOOK_S)
        while (row := self.row)["state"] not in OVER:
            self._tell_asks(row)
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"workflow {row['name']!r} is {row['state']} after {timeout_s:g} s")
            time.sleep(next(looks, LOOK_S[-1]))
        return row

    def _tell_asks(self, row: dict[str, Any]) -> None:
        """Say on stderr, once for each, that a person is asked: whoever waits would wait for ever."""
        new = [step for step in row["asks"] if step not in self._told_asks]
        self._told_asks.update(new)
        if new and sys.stderr is not None:
            answer = f"clearway flow resume id:{self.id} --value .., or run.resume(value) of its run"
            sys.stderr.write(f"clearway: workflow {row['name']} waits for a person ({', '.join(new)}): {answer}\n")

    def result(self, timeout_s: float | None = None) -> Any:  # noqa: ANN401  whatever it gives back
        """Return what it gives back, once it is over. FlowError: it did not succeed, and why."""
        row = self.wait(timeout_s)
        if row["state"] != "succeeded":
            raise failure(f"workflow {row['name']}", row, self._why(row))
        return _filled(self._given, {step["name"]: step["result"] for step in row["steps"]})

    def _why(self, row: dict[str, Any]) -> str:
        """Return what the job tells for which it failed, with the last line that this wrote to stderr."""
        job = culprit(row)
        if job is None:
            return ""
        said = b""
        with suppress(ClearwayError):  # its log may be gone
            for chunk in self._client.logs(f"id:{job['id']}", stream="stderr"):
                said = (said + chunk)[-MOST_SAID:]
        lines = said.decode(errors="replace").split("\n")
        last = next((f"; it said: {line.strip()}" for line in reversed(lines) if line.strip()), "")
        reason = f": {job['reason']['text']}" if job["reason"] else ""
        return f"; job {job['name']}{reason}{last} (all of it: clearway logs --stderr id:{job['id']})"


def failure(what: str, row: dict[str, Any], more: str = "") -> FlowError:
    """Return the error that says how something ended."""
    reason = row["reason"] or {"code": "", "text": row["state"]}
    kind = LoopLimitError if reason["code"] == "loop-limit" else FlowError
    return kind(f"{what} {row['state']}: {reason['text']}{more}")


def _filled(given: Any, results: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return what a flow's function returned, with results where it has Refs."""
    if isinstance(given, Ref):
        first, *keys = given.path.split(".")
        found = results[first]
        for key in keys:
            if isinstance(found, list):
                found = found[int(key)] if int(key) < len(found) else None
            else:
                found = found.get(key) if isinstance(found, dict) else None
        return from_plain(found)
    if isinstance(given, dict):
        return {key: _filled(one, results) for key, one in given.items()}
    return type(given)(_filled(one, results) for one in given) if isinstance(given, list | tuple) else given
