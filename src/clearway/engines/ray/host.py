"""The actor in which a task lives on its node. It goes there by value: nodes need Ray and no Clearway.

It runs nothing of the task in its own process: a step beside it does, which ends with it.
"""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader
    from collections.abc import Coroutine

LOOK_S = 0.2
"""So often the files of a task that somebody listens to are looked at."""
LISTEN_S = 5.0
"""So long a call of a listener waits for news."""
MOST_BYTES = 1 << 20
"""What is sent of a file at once."""
MOST_RESULT = 4_000_001
"""So much of a result is read: more than any that may be given back, as on this machine."""
STREAMS = ("stdout", "stderr", "metrics", "progress")
GANG = "gang.py"
"""What makes one Ray cluster of a gang; tasks know its path as `CLEARWAY_RAY`."""
ALIVE = "alive"
"""A file that a host holds as long as it lives."""
KEPT_S = 3600.0
"""So long what a task left stays there whose host died with its node: whoever asks how it ended asks before."""


class Task:
    """A task of this host."""

    def __init__(self, order: dict[str, Any], folder: Path) -> None:
        self.order, self.folder = order, folder
        self.end: dict[str, Any] | None = None
        self.up = False
        self.pipe = -1
        self.own_ray = ""
        self.news = asyncio.Event()

    def state(self) -> dict[str, Any]:
        """Return how it is."""
        order = {word: said for word, said in self.order.items() if word not in {"env", "input"}}
        return {"order": order, "up": self.up, "end": self.end}


class Host:
    """Hosts the tasks of one namespace on its node, mostly one at a time; leaves when it had none for `idle_s`."""

    def __init__(self, folder: str, step: dict[str, str], idle_s: float, runtime_env: str) -> None:
        self._folder, self._idle_s, self._runtime_env = Path(folder), idle_s, runtime_env
        self._tasks: dict[str, Task] = {}
        self._term = 0
        self._used_at = time.monotonic()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        tidy(self._folder)
        self._step = self._folder / f"step-{os.getpid()}-{time.time_ns()}"
        self._step.mkdir()
        self._alive = os.open(self._step / ALIVE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._alive, fcntl.LOCK_EX)  # until this process is gone
        for name, text in step.items():
            (self._step / name).parent.mkdir(parents=True, exist_ok=True)
            (self._step / name).write_text(text)
        self._idling: asyncio.Task[None] | None = None
        self._doing: set[asyncio.Task[None]] = set()

    async def holding(self, term: int) -> list[dict[str, Any]]:
        """Return all its tasks to who leads by this term. Raises PermissionError for one that leads no more."""
        self._obey(term)
        self._idling = self._idling or asyncio.create_task(self._leave_when_idle())
        self._used_at = time.monotonic()
        return [task.state() for task in self._tasks.values()]

    async def where(self) -> tuple[str, str]:
        """Return Ray's number of its node, and the runtime environment that it is in."""
        import ray  # noqa: PLC0415  on its node

        return str(ray.get_runtime_context().get_node_id()), self._runtime_env

    async def start(
        self, term: int, order: dict[str, Any], code: bytes, token: bytes, secrets: dict[str, str]
    ) -> dict[str, Any]:
        """Start a task, unless it was started before."""
        self._obey(term)
        self._used_at = time.monotonic()
        key = order["task"]
        if key not in self._tasks:
            task = self._tasks[key] = Task(order, self._folder / key)
            try:
                self._start(task, code, token, secrets)
            except (OSError, tarfile.TarError) as error:
                task.end = {"code": None, "error": f"the task cannot be set up on its node: {error}"}
        return self._tasks[key].state()

    async def listen(self, key: str, read: dict[str, int]) -> dict[str, Any]:
        """Return what a task has written beyond what was read, and how it is, once there is news."""
        task = self._tasks[key]
        was_up = read["up"]
        until = time.monotonic() + LISTEN_S
        while True:
            end = task.end
            said = {stream: _tail(task.folder / stream, read[stream]) for stream in STREAMS}
            if end or any(said.values()) or task.up != was_up or time.monotonic() >= until:
                more = any(len(part) == MOST_BYTES for part in said.values())
                given = _result(task.folder) if end and not more else b""
                return {"said": said, "up": task.up, "end": None if more else end, "result": given}
            task.news.clear()
            try:
                await asyncio.wait_for(task.news.wait(), LOOK_S)
            except asyncio.TimeoutError:  # noqa: UP041  it may be an older Python
                continue

    async def tell(self, term: int, key: str, message: dict[str, Any]) -> None:
        """Pass an order on to the step of a task."""
        self._obey(term)
        task = self._tasks.get(key)
        if task is not None and task.pipe >= 0 and task.end is None:
            _write(task.pipe, message)

    async def forget(self, key: str) -> None:
        """Drop what is left of a task that is over."""
        task = self._tasks.pop(key, None)
        self._used_at = time.monotonic()
        if task is not None:
            for folder in filter(None, (str(task.folder), task.own_ray)):
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _obey(self, term: int) -> None:
        if term < self._term:
            raise PermissionError(f"term {term} is over: {self._term} leads")
        self._term = term

    def _start(self, task: Task, code: bytes, token: bytes, secrets: dict[str, str]) -> None:
        task.folder.mkdir(mode=0o700)  # one that is there already was another's: never two of a task
        (task.folder / "host").write_text(self._step.name)
        order = dict(task.order)
        env = {**_inherited(), **secrets, **order["env"]}
        work = task.folder / "work"
        work.mkdir()
        if code:
            with tarfile.open(fileobj=io.BytesIO(code)) as tar:
                tar.extractall(work)  # noqa: S202  the controller looked at its members when they were sent
            order["cwd"] = str(work)
        elif "working_dir" in json.loads(self._runtime_env or "{}"):
            order["cwd"] = str(Path.cwd())  # Ray has brought it there
        for word in ("input", "result", "metrics", "progress"):
            if f"CLEARWAY_{word.upper()}" in env:
                env[f"CLEARWAY_{word.upper()}"] = str(task.folder / word)
        if token:
            env["CLEARWAY_TOKEN_FILE"] = str(task.folder / "token")
            (task.folder / "token").touch(0o600)
            (task.folder / "token").write_bytes(token)
        if order["input"]:
            (task.folder / "input").write_text(order["input"])
        Path(env["CLEARWAY_CHECKPOINT_DIR"]).mkdir(parents=True, exist_ok=True)
        task.own_ray = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # the path of a socket has to be short
        env |= {"RAY_TMPDIR": task.own_ray, "CLEARWAY_RAY": str(self._step / GANG)}
        order |= {"env": env, "stdout": str(task.folder / "stdout"), "stderr": str(task.folder / "stderr")}
        self._spawn(task, order)

    def _spawn(self, task: Task, order: dict[str, Any]) -> None:
        given, task.pipe = os.pipe2(os.O_CLOEXEC)
        told, tells = os.pipe2(os.O_CLOEXEC)
        with Path(os.devnull).open("wb") as nowhere:
            command = [sys.executable, "-I", "-S", str(self._step), str(task.folder)]
            subprocess.run(command, stdin=given, stdout=tells, stderr=nowhere, check=True, env={})
        os.close(given)
        os.close(tells)
        self._do(self._read(task, told))
        self._do(asyncio.to_thread(_write, task.pipe, order))

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        doing = asyncio.create_task(what)
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)

    async def _read(self, task: Task, told: int) -> None:
        reader: StreamReader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(told, "rb", 0)
        )
        while line := await reader.readline():
            message = json.loads(line)
            if message["is"] == "up":
                task.up = True
            else:
                task.end = _end_in(message)
            task.news.set()
        transport.close()
        task.end = task.end or end_of(task.folder) or {"code": None, "error": ""}
        os.close(task.pipe)
        task.pipe = -1
        task.news.set()

    async def _leave_when_idle(self) -> None:
        while self._tasks or time.monotonic() - self._used_at < self._idle_s:  # noqa: ASYNC110  time is the event
            await asyncio.sleep(self._idle_s / 10)
        shutil.rmtree(self._step, ignore_errors=True)
        os._exit(0)


def sweep(folder: str, keys: list[str], patience_s: float) -> dict[str, dict[str, Any] | None]:
    """On the node of a host that died: wait until nothing of its tasks is left, and return how they ended."""
    found: dict[str, dict[str, Any] | None] = {}
    until = time.monotonic() + patience_s
    for key in keys:
        place = Path(folder, key)
        try:
            lock = os.open(place / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError:  # it never came so far
            found[key] = None
            continue
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        found[key] = end_of(place)
        os.close(lock)
        shutil.rmtree(place, ignore_errors=True)
    return found


def tidy(folder: Path) -> None:
    """Remove what hosts left that died with their node."""
    for step in folder.glob("step-*"):
        if _is_old(step) and _is_free(step / ALIVE):
            shutil.rmtree(step, ignore_errors=True)
    for host in folder.glob("*/host"):
        try:
            left = _is_old(host) and not (folder / host.read_text()).exists()
        except OSError:  # its host forgets it in this very moment
            continue
        if left and _is_free(host.with_name("lock")):
            shutil.rmtree(host.parent, ignore_errors=True)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > KEPT_S
    except OSError:
        return False


def _is_free(path: Path) -> bool:
    """Say whether no process holds a file: the one that did is gone."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


def devices_given() -> list[int]:
    """In a place that is held: return the devices that Ray holds for it."""
    import ray  # noqa: PLC0415  on its node

    return sorted(int(one) for one in ray.get_gpu_ids())


def end_of(folder: Path) -> dict[str, Any] | None:
    """Return how a task ended, None where its step did not say so."""
    try:
        end = json.loads((folder / "end").read_text())
    except (OSError, ValueError):
        return None
    return _end_in(end)


def _end_in(said: dict[str, Any]) -> dict[str, Any]:
    """Return how a task ended by what its step said."""
    return {"code": said["code"], "error": said["error"], "used": said.get("used")}


def _inherited() -> dict[str, str]:
    """Return the environment of the node without what Ray tells its own worker in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


def _write(pipe: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    try:
        while data:
            data = data[os.write(pipe, data) :]
    except OSError:  # the step has ended
        return


def _tail(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def _result(folder: Path) -> bytes:
    try:
        with (folder / "result").open("rb") as file:
            return file.read(MOST_RESULT)
    except OSError:
        return b""
