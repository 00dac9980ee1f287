"""The client of a running controller: one method for each thing that it can be asked.

References to jobs (`ref`) are a number, a name (the newest job that has it), or `id:NUMBER` / `name:NAME`.
Errors are those of `clearway.model.errors`, the same that the controller raised.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from clearway.config.home import check_owner, home_dir, read_running
from clearway.model.errors import ControllerError, NotFoundError
from clearway.sdk.past import Past
from clearway.sdk.policies import Policies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from clearway.sdk.transport import Transport

WAIT_SLICE_S = 30.0  # one request waits so long; the next one follows at once
PAGE = 1000  # rows in one answer at most
TERMINAL = frozenset({"succeeded", "failed", "cancelled", "refused"})

Row = dict[str, Any]


class Client(Past, Policies):
    """Talks HTTP to one controller. May be shared by threads: each call has its own connection."""

    def __init__(self, transport: Transport) -> None:
        """Use a transport; people call `connect` or `at`."""
        self._transport = transport

    @classmethod
    def connect(cls, home: Path | None = None) -> Client:
        """Return a client of the controller of `home`, through its socket. ControllerError: none runs."""
        from clearway.sdk.transport import unix

        where = home_dir(home)
        running = read_running(where)
        if running is None:
            raise ControllerError(f"no controller runs for {where}; start one with: clearway up --detach")
        check_owner(where)
        return cls(unix(running.socket))

    @classmethod
    def usual(cls, home: Path | None = None) -> Client:
        """Return a client of the controller at CLEARWAY_URL, if that is set; else, or where a home is named, of that.

        CLEARWAY_TOKEN_FILE is the file with the token that is shown there, `token` of the usual home by default.
        """
        url = os.environ.get("CLEARWAY_URL")
        if not url or home is not None:
            return cls.connect(home)
        file = os.environ.get("CLEARWAY_TOKEN_FILE")
        return cls.at(url, Path(file).expanduser() if file else home_dir() / "token")

    @classmethod
    def at(cls, url: str, token_file: Path) -> Client:
        """Return a client of a controller at `https://HOST:PORT`, or `http://127.0.0.1:PORT`.

        `token_file` holds a token: one of `clearway token create`, or HOME/token of a controller of one's own.
        """
        from clearway.sdk.transport import port

        return cls(port(url, token_file))

    def heard_by(self, hear: Callable[[datetime], None]) -> Client:
        """Have `hear` told, with each answer, what the controller's clock says; return this client."""
        self._transport.hear = hear
        return self

    def status(self) -> Row:
        """Return what the controller is and has in hand."""
        return self._get("status")

    def submit(self, jobs: Sequence[Mapping[str, object]]) -> list[Row]:
        """Enter jobs, all or none. Each answer has `id`, `name` and `warnings`."""
        from clearway.sdk.encode import encode_jobs

        jobs = self._carried(jobs)
        return self._list(self._transport.call("POST", "jobs", body=encode_jobs(jobs)), "jobs")

    def _carried(self, words: Any) -> Any:  # noqa: ANN401  the same words
        """Send the files that jobs take along, and name them by their content."""
        from clearway.sdk.carry import Carrier

        return Carrier(self._send_code).carry(words)

    def _send_code(self, digest: str, content: bytes) -> None:
        try:
            self._get("code", digest)
        except NotFoundError:
            self._transport.call("PUT", self._path("code", digest), body=content)

    def jobs(  # noqa: PLR0913  the words of the query
        self,
        state: str | None = None,
        queue: str | None = None,
        name: str | None = None,
        *,
        user: str | None = None,
        tenant: str | None = None,
        since: str | None = None,
        array: str | None = None,
        everything: bool = False,
        limit: int = 1000,
    ) -> list[Row]:
        """Return jobs, newest first: those that are not over, and with `everything` those that are.

        An array stands for all its jobs; `array` asks for those of one. `since` is a moment in ISO 8601.
        """
        query: dict[str, object] = {
            "state": state, "queue": queue, "name": name, "user": user, "tenant": tenant, "since": since,
            "array": array, "everything": everything,
        }  # fmt: skip
        rows: list[Row] = []
        cursor = None
        while True:
            page = {**query, "limit": min(limit - len(rows), PAGE), "cursor": cursor}
            answer = self._transport.call("GET", "jobs", page)
            rows += answer["jobs"]
            cursor = answer["next"]
            if cursor is None or len(rows) >= limit:
                return rows

    def job(self, ref: str) -> Row:
        """Return one job with its attempts."""
        return self._get("jobs", ref)

    def events(self, ref: str) -> list[Row]:
        """Return what happened to a job, oldest first."""
        return self._list(self._transport.call("GET", self._path("jobs", ref, "events")), "events")

    def why(self, ref: str) -> Row:
        """Return why a job waits, started or ended: codes, facts and sentences."""
        return self._get("jobs", ref, "why")

    def outlook(self, ref: str) -> Row:
        """Return what a waiting job lacks, what would let it start at once, and when it is expected to start."""
        return self._get("jobs", ref, "outlook")

    def advise(self, jobs: Sequence[Mapping[str, object]]) -> list[Row]:
        """Return how things would stand for jobs if they were submitted now; nothing is entered."""
        from clearway.sdk.encode import encode_jobs

        return self._list(self._transport.call("POST", "advice", body=encode_jobs(jobs)), "jobs")

    def reload(self) -> Row:
        """Have the controller read its settings anew: `in_force` those that hold now, `at_next_start` others."""
        return self._post("config", "reload")

    def cancel(self, ref: str) -> Row:
        """End a job. Returns it as it is then; its processes may need their time to stop."""
        return self._post("jobs", ref, "cancel")

    def suspend(self, ref: str) -> Row:
        """Have a running job stand still; it keeps what it holds."""
        return self._post("jobs", ref, "suspend")

    def resume(self, ref: str) -> Row:
        """Have a job that stands still go on."""
        return self._post("jobs", ref, "resume")

    def hold(self, ref: str) -> Row:
        """Have a job held back: it starts no attempt until it is released. One that runs goes on."""
        return self._post("jobs", ref, "hold")

    def release(self, ref: str) -> Row:
        """Let a job go that is held back."""
        return self._post("jobs", ref, "release")

    def requeue(self, ref: str, *, hold: bool = False) -> Row:
        """Stop a running job, to wait again with its first submit time; with `hold` until it is released."""
        answer: Row = self._transport.call("POST", self._path("jobs", ref, "requeue"), {"hold": hold})
        return answer

    def set(self, ref: str, words: Mapping[str, object]) -> Row:
        """Give a job another `priority`, `queue` (while it waits) or `time_limit` ("none": no limit)."""
        return self._send(self._path("jobs", ref, "set"), words)

    def wait(self, ref: str, timeout_s: float | None = None) -> Row:
        """Return the job once it is over, or as it is after `timeout_s` seconds: look at its `state`."""
        end = None if timeout_s is None else monotonic() + timeout_s
        while True:
            left = WAIT_SLICE_S if end is None else min(WAIT_SLICE_S, end - monotonic())
            path = self._path("jobs", ref, "wait")
            row: Row = self._transport.call("GET", path, {"timeout": max(0.0, round(left, 3))})
            if row["state"] in TERMINAL or (end is not None and monotonic() >= end):
                return row
            ref = f"id:{row['id']}"  # a name may be given to a newer job meanwhile

    def logs(
        self, ref: str, task: int = 0, attempt: int | None = None, stream: str = "stdout", *, follow: bool = False
    ) -> Iterator[bytes]:
        """Yield what a task wrote, as it stands in the file, in pieces.

        With `follow`, goes on as it is written and ends when the job is over (with `attempt`: when that attempt is).
        """
        query = {"task": task, "attempt": attempt, "stream": stream, "follow": follow}
        yield from self._transport.stream(self._path("jobs", ref, "logs"), query)

    def nodes(self) -> list[Row]:
        """Return the nodes, with what is free on each."""
        return self._list(self._get("nodes"), "nodes")

    def queues(self) -> list[Row]:
        """Return the queues, with what each holds."""
        return self._list(self._get("queues"), "queues")

    def set_queue(self, words: Mapping[str, object]) -> Row:
        """Create or change a queue: it is as these words say, and words that are not said are not kept."""
        return self._send("queues", words)

    def change_queue(self, name: str, words: Mapping[str, object]) -> Row:
        """Create a queue, or change only these words of it."""
        return self._send(self._path("queues", name), words)

    def run_flow(self, words: Mapping[str, object]) -> Row:
        """Enter a workflow, given by its words."""
        return self._send("flows", self._carried(words))

    def flows(self) -> list[Row]:
        """Return the workflows at hand, newest first."""
        return self._list(self._get("flows"), "flows")

    def flow(self, ref: str) -> Row:
        """Return one workflow with its steps: by its number, or the newest of a name."""
        return self._get("flows", ref)

    def cancel_flow(self, ref: str) -> Row:
        """Stop what runs of a workflow, and let nothing else of it start."""
        return self._post("flows", ref, "cancel")

    def resume_flow(self, ref: str, value: object = None, step: str | None = None) -> Row:
        """Answer a step of a workflow that waits for a person; without `step` the only one that does."""
        which = {} if step is None else {"step": step}
        return self._send(self._path("flows", ref, "resume"), {"value": value, **which})

    def retry_flow(
        self,
        ref: str,
        anew: Sequence[str] = (),
        skip: Sequence[str] = (),
        words: Mapping[str, Mapping[str, object]] | None = None,
    ) -> Row:
        """Run a workflow again that did not succeed, from what has succeeded on.

        The steps `anew` and those behind them run in any case, those of `skip` do not; `words` has other words for
        steps, by name.
        """
        said: dict[str, object] = {"from": list(anew), "skip": list(skip)} | ({} if words is None else {"set": words})
        return self._send(self._path("flows", ref, "retry"), said)

    def skip_step(self, ref: str, step: str) -> Row:
        """Have a step of a workflow left out that is not over."""
        return self._send(self._path("flows", ref, "skip"), {"step": step})

    def run_search(self, words: Mapping[str, object]) -> Row:
        """Enter a search, given by its words."""
        return self._send("searches", self._carried(words))

    def searches(self) -> list[Row]:
        """Return the searches at hand, newest first, with the best trial of each."""
        return self._list(self._get("searches"), "searches")

    def search(self, name: str) -> Row:
        """Return one search with its trials."""
        return self._get("searches", name)

    def cancel_search(self, name: str) -> Row:
        """Stop the trials of a search that run, and let no other enter."""
        return self._post("searches", name, "cancel")

    def calls(self, *, everything: bool = False, limit: int = 1000) -> list[Row]:
        """Return calls, chains and groups, newest first: those that are not over, and with `everything` all."""
        query = {"everything": everything, "limit": limit}
        return self._list(self._transport.call("GET", "calls", query), "calls")

    def call(self, number: int) -> Row:
        """Return one call, chain or group."""
        return self._get("calls", str(number))

    def why_call(self, number: int) -> Row:
        """Return why a call waits, runs or ended, and when it is expected to be over."""
        return self._get("calls", str(number), "why")

    def cancel_call(self, number: int) -> Row:
        """End a call, or a chain or group with all that is part of it."""
        return self._post("calls", str(number), "cancel")

    def call_logs(self, number: int, stream: str = "stdout") -> bytes:
        """Return what a call wrote in its last attempt that has ended."""
        return b"".join(self._transport.stream(self._path("calls", str(number), "logs"), {"stream": stream}))

    def schedules(self) -> list[Row]:
        """Return the schedules, by name."""
        return self._list(self._get("schedules"), "schedules")

    def schedule(self, name: str, count: int = 5) -> Row:
        """Return one schedule with its next `ticks`, so many as `count` (at most 100)."""
        row: Row = self._transport.call("GET", self._path("schedules", name, "ticks"), {"count": count})
        return row

    def set_schedule(self, words: Mapping[str, object]) -> Row:
        """Create or change a schedule; its `workflow`, if it has one, is a map of words."""
        return self._send("schedules", self._carried(words))

    def pause_schedule(self, name: str) -> Row:
        """Have a schedule let its ticks pass."""
        return self._post("schedules", name, "pause")

    def resume_schedule(self, name: str) -> Row:
        """Have a schedule fire again."""
        return self._post("schedules", name, "resume")

    def remove_schedule(self, name: str) -> Row:
        """Have a schedule no longer tick; its runs go on."""
        return self._post("schedules", name, "remove")

    def secrets(self, *, user: str | None = None, tenant: str | None = None) -> list[Row]:
        """Return the names of the secrets of a user (you, where none is said) or a tenant."""
        return self._list(self._transport.call("GET", "secrets", {"user": user, "tenant": tenant}), "secrets")

    def set_secret(self, name: str, value: str | bytes, *, user: str | None = None, tenant: str | None = None) -> Row:
        """Keep a secret, in place of an earlier value: jobs that name it in `secrets` find it in a variable."""
        body = value.encode() if isinstance(value, str) else value
        whose = {"user": user, "tenant": tenant}
        answer: Row = self._transport.call("PUT", self._path("secrets", name), whose, body)
        return answer

    def remove_secret(self, name: str, *, user: str | None = None, tenant: str | None = None) -> Row:
        """Forget a secret; what runs keeps what it was given."""
        whose = {"user": user, "tenant": tenant}
        answer: Row = self._transport.call("POST", self._path("secrets", name, "remove"), whose)
        return answer

    def bookings(self) -> list[Row]:
        """Return the bookings that are not over, the first to begin first."""
        return self._list(self._get("bookings"), "bookings")

    def book(self, words: Mapping[str, object]) -> Row:
        """Make a booking, given by its words: `name`, `nodes` or `gpus`, `from`, `to`, `for`."""
        return self._send("bookings", words)

    def cancel_booking(self, name: str) -> Row:
        """Cancel a booking: from now on it keeps nothing."""
        return self._post("bookings", name, "cancel")

    def drain(self, node: str, drained: bool = True) -> Row:  # noqa: FBT001, FBT002  the command is `drain` / `undrain`
        """Place nothing new on a node, or (`drained=False`) do so again."""
        answer: Row = self._transport.call("POST", self._path("nodes", node, "drain"), {"drained": drained})
        return answer

    def session(self) -> Row:
        """Return who one is for the controller, and with what role."""
        return self._get("session")

    def tokens(self) -> list[Row]:
        """Return the tokens that are there, without their secrets."""
        return self._list(self._get("tokens"), "tokens")

    def make_token(self, words: Mapping[str, object]) -> Row:
        """Make a token: `user`, `role`, `tenant`, `expires`, `scopes`. Its secret, `token`, is told this once."""
        return self._send("tokens", words)

    def revoke_token(self, ident: str) -> Row:
        """Have a token, named by its `id`, open nothing any more."""
        return self._post("tokens", ident, "revoke")

    def link(self) -> Row:
        """Return a link that opens the page once, within two minutes."""
        return self._post("links")

    def changes(self, who: str | None = None, since: str | None = None, limit: int = 100) -> list[Row]:
        """Return who changed what, from where and when, the newest first."""
        query = {"who": who, "since": since, "limit": limit}
        return self._list(self._transport.call("GET", "changes", query), "changes")

    def overview(self) -> Row:
        """Return what is so at a glance: counts by state and queue, devices, and why jobs wait."""
        return self._get("overview")

    def devices(self) -> list[Row]:
        """Return the nodes with their devices, and who holds which share of each."""
        return self._list(self._get("devices"), "nodes")

    def timeline(self, start: str | None = None, end: str | None = None, limit: int | None = None) -> Row:
        """Return who held what between two moments (the last hour), in columns."""
        answer: Row = self._transport.call("GET", "timeline", {"from": start, "to": end, "limit": limit})
        return answer

    def waste(self, start: str | None = None, end: str | None = None) -> Row:
        """Return what was held between two moments and by whom, and what of it idled."""
        answer: Row = self._transport.call("GET", "waste", {"from": start, "to": end})
        return answer

    def budgets(self) -> list[Row]:
        """Return how each budget stands in its present period, by name."""
        return self._list(self._get("budgets"), "budgets")

    def watch(self, after: int | None = None, **wish: object) -> Iterator[Row]:
        """Yield events as they happen, each with its `id`; with `after` those behind that record first.

        `wish` narrows them: kind (several with commas), job, name, queue, user, tenant, state.
        """
        from clearway.sdk.watching import events

        yield from events(self._transport, {**wish, "after": after})

    def shutdown(self) -> None:
        """Ask the controller to stop. Running tasks go on. Returns at once; the process ends soon after."""
        self._transport.call("POST", "shutdown")

    def _get(self, *parts: str) -> Row:
        answer: Row = self._transport.call("GET", self._path(*parts))
        return answer

    def _post(self, *parts: str) -> Row:
        answer: Row = self._transport.call("POST", self._path(*parts))
        return answer

    def _send(self, path: str, words: Mapping[str, object]) -> Row:
        from clearway.sdk.encode import encode_words

        answer: Row = self._transport.call("POST", path, body=encode_words(words))
        return answer

    @staticmethod
    def _list(answer: Row, key: str) -> list[Row]:
        found: list[Row] = answer[key]
        return found
