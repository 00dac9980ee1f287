"""Staying with a job until it is over: its output as it comes, why it waits, and what Ctrl-C does."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any, Self

from clearway.cli import faults
from clearway.model.errors import ClearwayError, ControllerError
from clearway.model.reasons import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clearway.cli.shell import Shell
    from clearway.sdk.client import Client

POLL_S = 1.0  # the answer comes at once when the job ends; this only bounds how late a reason is shown
SILENT_S = 2.0  # a job that waits no longer than this needs no word about it
DRAIN_S = 10.0  # what was written before the end has been read by then, whatever its size
MAX_STREAMED_TASKS = 16  # each takes two connections

NEVER_HINT = "Ctrl-C cancels it; without GPUs: clearway down, then clearway up --detach --devices N"

TERMINAL = frozenset({"succeeded", "failed", "cancelled", "refused"})


def follow_to_end(shell: Shell, client: Client, answer: dict[str, Any]) -> int:
    """Stream a job's output until it is over, and return the number to exit with."""
    ref = f"id:{answer['id']}"
    streams = _Streams(shell, ref)
    watch = _Watch(shell, answer.get("warnings", ()))
    try:
        with Interrupts() as interrupts:
            job = client.job(ref)
            if not job["array"]:  # each job of an array has logs of its own
                streams.start(job)
            row = _until_over(client, ref, streams, interrupts, watch)
    except ControllerError:
        shell.note(f"lost the controller; the job goes on: clearway up --detach, then clearway wait {answer['id']}")
        raise
    if row is None:
        return faults.READER_GONE if streams.reader_gone.is_set() else faults.INTERRUPTED
    streams.finish()
    if shell.as_json:
        shell.document(row)
    elif row["exit_code"] is None or row["state"] != "succeeded":
        shell.note(
            f"job {row['id']} ({row['name']}) {row['state']}: {(row['reason'] or {}).get('text', 'no reason recorded')}"
        )
    return exit_number(row)


def exit_number(row: dict[str, Any]) -> int:
    """Return what a shell would see of a job that is over: its exit code, or 128 plus the signal that ended it."""
    code = row["exit_code"]
    if row["state"] == "succeeded":
        return 0
    if row["state"] == "cancelled" or not isinstance(code, int) or code == 0:
        return faults.FAILED
    return faults.SIGNAL_BASE - code if code < 0 else code


def _until_over(
    client: Client, ref: str, streams: _Streams, interrupts: Interrupts, watch: _Watch
) -> dict[str, Any] | None:
    """Wait for the end. The first Ctrl-C cancels the job, the second one leaves it alone: None.

    None also where whoever reads our output is gone; then the job is cancelled, as a command in a pipe would end.
    """
    cancelled = False
    while interrupts.count <= 1:
        row = interrupts.breaking(lambda: client.wait(ref, POLL_S))
        if row is not None and row["state"] in TERMINAL:
            return row
        if streams.reader_gone.is_set():
            client.cancel(ref)
            return None
        if interrupts.count == 1 and not cancelled:
            cancelled = True
            watch.shell.note(f"cancelling job {ref.removeprefix('id:')}; Ctrl-C again stops waiting for its end")
            client.cancel(ref)
        elif row is not None:
            watch.look(row)
    return None


class Interrupts:
    """Counts Ctrl-C while it is entered. One breaks off only what may be broken off, and is not lost elsewhere."""

    def __init__(self) -> None:
        self.count = 0
        self._may_break = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def breaking(self, act: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """Return what `act` returns, None if Ctrl-C broke it off."""
        try:
            self._may_break = True
            return act()
        except KeyboardInterrupt:
            return None
        finally:
            self._may_break = False

    def _take(self, *_: object) -> None:
        self.count += 1
        if self._may_break:
            self._may_break = False
            raise KeyboardInterrupt


class _Watch:
    """Says why a job waits, once it has waited for a while, and again when that changes.

    `warnings` were said at the submit: that the job never fits. They are not said again.
    """

    def __init__(self, shell: Shell, warnings: Sequence[str]) -> None:
        self.shell, self._since, self._said, self._warnings = shell, time.monotonic(), "", warnings
        self._hinted = False
        if warnings:
            self._hint()

    def look(self, row: dict[str, Any]) -> None:
        text = str((row["reason"] or {}).get("text", "")) if row["state"] == "pending" else ""
        if text and text != self._said and time.monotonic() - self._since >= SILENT_S:
            self._said = text
            if any(warning in text for warning in self._warnings):
                return
            self.shell.note(f"job {row['id']} ({row['name']}) waits: {text}")
            if row["reason"]["code"] == Code.NEVER_FITS:
                self._hint()

    def _hint(self) -> None:
        if not self._hinted:
            self._hinted = True
            self.shell.note(NEVER_HINT)


class _Streams:
    """Copies what each task writes to our own stdout and stderr; with several tasks each line is marked by its task."""

    def __init__(self, shell: Shell, ref: str) -> None:
        self._shell, self._ref = shell, ref
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.reader_gone = threading.Event()

    def start(self, row: dict[str, Any]) -> None:
        """Begin to copy; with --json everything goes to stderr, since stdout carries the document."""
        tasks = int(row["tasks"])
        if tasks > MAX_STREAMED_TASKS:
            self._shell.note(
                f"showing tasks 0 to {MAX_STREAMED_TASKS - 1} of {tasks}; clearway logs --task N shows others"
            )
        out = sys.stderr.buffer if self._shell.as_json else sys.stdout.buffer
        for task in range(min(tasks, MAX_STREAMED_TASKS)):
            for stream, sink in (("stdout", out), ("stderr", sys.stderr.buffer)):
                mark = f"[{task}] ".encode() if tasks > 1 else b""
                thread = threading.Thread(target=self._copy, args=(task, stream, sink, mark), daemon=True)
                thread.start()
                self._threads.append(thread)

    def finish(self) -> None:
        """Wait until what was written is copied."""
        until = time.monotonic() + DRAIN_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _copy(self, task: int, stream: str, sink: IO[bytes], mark: bytes) -> None:
        try:
            chunks = self._shell.client().logs(self._ref, task=task, stream=stream, follow=True)
            for chunk in marked(chunks, mark) if mark else chunks:
                with self._lock:
                    sink.write(chunk)
                    sink.flush()
        except ControllerError:
            return  # whoever waits for the job's end is told the same, and says it once
        except ClearwayError as error:
            self._shell.note(f"{stream} of task {task}: {error}")
        except BrokenPipeError:
            self.reader_gone.set()


def marked(chunks: Iterable[bytes], mark: bytes) -> Iterator[bytes]:
    """Yield whole lines, each behind `mark`."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield b"".join(mark + line + b"\n" for line in lines)
    if rest:
        yield mark + rest + b"\n"
