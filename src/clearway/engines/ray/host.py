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

from clearway.engines.ray.left import (
    ALIVE,
    MOST_BYTES,
    OWN_RAY,
    PRIVATE,
    TMP,
    clear,
    end_in,
    end_of,
    keep_term,
    own_folder,
    part,
    remove,
    sweep_in,
    term_in,
    tidy,
)

if TYPE_CHECKING:
    from asyncio import StreamReader
    from collections.abc import Coroutine

LOOK_S = 0.2
"""So often the files of a task that somebody listens to are looked at."""
LISTEN_S = 5.0
"""So long a call of a listener waits for news."""
MOST_RESULT = 4_000_001
"""So much of a result is read: more than any that may be given back, as on this machine."""
STREAMS = ("stdout", "stderr", "metrics", "progress")
GANG = "gang.py"
"""What makes one Ray cluster of a gang; tasks know its path as `CLEARWAY_RAY`."""
LOST: dict[str, Any] = {"code": None, "error": ""}
MODULES = ".py_modules"
"""Where modules are that a task took along."""


class Task:
    """A task of this host."""

    def __init__(self, order: dict[str, Any], folder: Path) -> None:
        self.order, self.folder = order, folder
        self.end: dict[str, Any] | None = None
        self.up = False
        self.pipe = -1
        self.sent: asyncio.Task[None] | None = None
        """Sends the order to the step: all else comes after it."""
        self.news = asyncio.Event()

    def state(self) -> dict[str, Any]:
        """Return how it is."""
        order = {word: said for word, said in self.order.items() if word not in {"env", "input"}}
        return {"order": order, "up": self.up, "end": self.end}


class Host:
    """Hosts the tasks of one namespace on its node, mostly one at a time; leaves when it had none for `idle_s`.

    Who leads says by which term: its number in the journal, and that of its bridge.
    """

    def __init__(self, namespace: str, step: dict[str, str], idle_s: float, runtime_env: str) -> None:
        self._idle_s, self._runtime_env = idle_s, runtime_env
        self._tasks: dict[str, Task] = {}
        self._used_at = time.monotonic()
        self._idling: asyncio.Task[None] | None = None
        self._doing: set[asyncio.Task[None]] = set()
        self._trouble = ""
        self._folder = self._step = Path(os.devnull)  # where there is none
        self._term = (0, 0)
        try:
            self._settle(namespace, step)
        except OSError as error:  # each task says so, and the next one finds another host
            self._trouble, self._idle_s = str(error), LOOK_S

    def _settle(self, namespace: str, step: dict[str, str]) -> None:
        self._folder = own_folder(namespace)
        tidy(self._folder)
        self._step = self._folder / f"step-{os.getpid()}-{time.time_ns()}"
        self._step.mkdir()
        self._alive = os.open(self._step / ALIVE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._alive, fcntl.LOCK_EX)  # until this process is gone
        for name, text in step.items():
            (self._step / name).parent.mkdir(parents=True, exist_ok=True)
            (self._step / name).write_text(text)
        self._term = term_in(self._folder)

    async def holding(self, term: tuple[int, int]) -> list[dict[str, Any]]:
        """Return all its tasks to who leads by this term. Raises PermissionError for one that leads no more."""
        self._idling = self._idling or asyncio.create_task(self._leave_when_idle())
        self._obey(term)
        self._used_at = time.monotonic()
        return [task.state() for task in self._tasks.values()]

    async def where(self) -> tuple[str, str]:
        """Return Ray's number of its node, and the runtime environment that it is in."""
        import ray  # noqa: PLC0415  on its node

        return str(ray.get_runtime_context().get_node_id()), self._runtime_env

    async def start(
        self, term: tuple[int, int], order: dict[str, Any], code: bytes, token: bytes, secrets: dict[str, str]
    ) -> None:
        """Start a task, unless it was started before."""
        self._obey(term)
        self._used_at = time.monotonic()
        key = order["task"]
        if key in self._tasks:
            return
        task = self._tasks[key] = Task(order, self._folder / key)
        if self._trouble:
            task.end = _cannot(self._trouble)
            return
        try:
            task.folder.mkdir(mode=PRIVATE)
        except FileExistsError:  # it was here before: never two of a task
            self._do(self._outlive(task))
            return
        except OSError as error:
            task.end = _cannot(error)
            return
        try:
            self._start(task, code, token, secrets)
        except (OSError, ValueError, tarfile.TarError) as error:
            task.end = _cannot(error)
        except subprocess.SubprocessError:  # killed before it began
            task.end = LOST

    async def listen(self, term: tuple[int, int], key: str, read: dict[str, int]) -> dict[str, Any]:
        """Return what a task has written beyond what was read, and how it is, once there is news."""
        self._obey(term)
        task = self._tasks[key]
        was_up = read["up"]
        until = time.monotonic() + LISTEN_S
        while True:
            end = task.end
            said = {stream: part(task.folder / stream, read[stream], MOST_BYTES) for stream in STREAMS}
            if end or any(said.values()) or task.up != was_up or time.monotonic() >= until:
                more = any(len(part) == MOST_BYTES for part in said.values())
                given = part(task.folder / "result", 0, MOST_RESULT) if end and not more else b""
                return {"said": said, "up": task.up, "end": None if more else end, "result": given}
            task.news.clear()
            try:
                await asyncio.wait_for(task.news.wait(), LOOK_S)
            except asyncio.TimeoutError:  # noqa: UP041  it may be an older Python
                continue

    async def tell(self, term: tuple[int, int], key: str, message: dict[str, Any]) -> None:
        """Pass an order on to the step of a task."""
        self._obey(term)
        task = self._tasks.get(key)
        if task is not None and task.sent is not None:
            await task.sent
            if task.pipe >= 0 and task.end is None:
                _write(task.pipe, message)

    async def forget(self, term: tuple[int, int], key: str) -> None:
        """Drop what is left of a task that is over."""
        self._obey(term)
        task = self._tasks.pop(key, None)
        self._used_at = time.monotonic()
        if task is not None:
            await asyncio.to_thread(remove, task.folder)

    def _obey(self, term: tuple[int, int]) -> None:
        term = (term[0], term[1])
        if term < self._term:
            raise PermissionError(f"term {term} is over: {self._term} leads")
        if term > self._term:
            self._term = term
            keep_term(self._folder, term)

    def _start(self, task: Task, code: bytes, token: bytes, secrets: dict[str, str]) -> None:
        (task.folder / "host").write_text(self._step.name)
        order = dict(task.order)
        env = {**_inherited(), **secrets, **order["env"]}
        work = task.folder / "work"
        work.mkdir()
        if code:
            with tarfile.open(fileobj=io.BytesIO(code)) as tar:
                tar.extractall(work)  # noqa: S202  the controller looked at its members when they were sent
            order["cwd"] = _found_in(work, env) or order["cwd"]
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
        env["CLEARWAY_CHECKPOINT_DIR"] = self._checkpoints(env["CLEARWAY_CHECKPOINT_DIR"], order["task"])
        own_ray = tempfile.mkdtemp(prefix=OWN_RAY, dir=TMP)  # the path of a socket has to be short
        (task.folder / "ray").write_text(own_ray)
        env |= _own_python(self._runtime_env, env)
        env |= {"RAY_TMPDIR": own_ray, "CLEARWAY_RAY": str(self._step / GANG)}
        order |= {"env": env, "stdout": str(task.folder / "stdout"), "stderr": str(task.folder / "stderr")}
        self._spawn(task, order)

    def _checkpoints(self, path: str, key: str) -> str:
        """Return the folder for checkpoints: that of the controller's home, or one here where there can be none."""
        here = self._folder / "checkpoints" / key.partition(".")[0]
        for folder in (Path(path), here):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError:
                if folder == here:
                    raise
            else:
                return str(folder)
        return path

    def _spawn(self, task: Task, order: dict[str, Any]) -> None:
        given, task.pipe = os.pipe2(os.O_CLOEXEC)
        told, tells = os.pipe2(os.O_CLOEXEC)
        task.sent = asyncio.create_task(asyncio.to_thread(_write, task.pipe, order))
        self._do(self._read(task, told))
        try:
            with Path(os.devnull).open("wb") as nowhere:
                command = [sys.executable, "-I", "-S", str(self._step), str(task.folder)]
                subprocess.run(command, stdin=given, stdout=tells, stderr=nowhere, check=True, env={})
        finally:
            os.close(given)
            os.close(tells)

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
                task.end = end_in(message)
            task.news.set()
        transport.close()
        if task.sent is not None:
            await task.sent
        os.close(task.pipe)
        task.pipe = -1
        if task.end is None:  # its step was killed
            await asyncio.to_thread(clear, task.folder)
            task.end = end_of(task.folder) or LOST
            task.news.set()

    async def _outlive(self, task: Task) -> None:
        """Wait until nothing is left of a task that another host had."""
        while task.end is None:
            try:
                ends = await asyncio.to_thread(sweep_in, self._folder, [task.order["task"]], LISTEN_S)
            except BlockingIOError:
                continue
            task.end = ends[task.order["task"]] or LOST
        task.news.set()

    async def _leave_when_idle(self) -> None:
        while self._tasks or time.monotonic() - self._used_at < self._idle_s:  # noqa: ASYNC110  time is the event
            await asyncio.sleep(self._idle_s / 10)
        shutil.rmtree(self._step, ignore_errors=True)
        os._exit(0)


def _own_python(runtime_env: str, env: dict[str, str]) -> dict[str, str]:
    """Return what makes `python` the one of an environment that Ray has made, in which this process runs."""
    if not any(word in json.loads(runtime_env or "{}") for word in ("pip", "uv", "conda")):
        return {}
    return {"PATH": os.pathsep.join((str(Path(sys.executable).parent), env.get("PATH", os.defpath)))}


def _found_in(work: Path, env: dict[str, str]) -> str:
    """Return where to run a task that took files along, "" where these are modules alone; `env` finds them then."""
    modules = work / MODULES
    places = [str(modules), str(work)] if modules.exists() else []
    if places:
        env["PYTHONPATH"] = os.pathsep.join([*places, *filter(None, [env.get("PYTHONPATH", "")])])
    return str(work) if any(one != modules for one in work.iterdir()) or not places else ""


def devices_given() -> list[int]:
    """In a place that is held: return the devices that Ray holds for it."""
    import ray  # noqa: PLC0415  on its node

    return sorted(int(one) for one in ray.get_gpu_ids())


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


def _cannot(error: object) -> dict[str, Any]:
    return {"code": None, "error": f"the task cannot be set up on its node: {error}"}
