"""Tasks that tests of live calls use: functions of a module that workers import."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clearway import task
from clearway.model.errors import CallTimedOutError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


@task
def add(a: int, b: int = 1) -> int:
    return a + b


@task
def own_pid() -> int:
    return os.getpid()


@task
def talk(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stderr.write(text.upper() + "\n")


@task
def raises(text: str) -> None:
    raise KeyError(text)


@task
async def later(value: int) -> int:
    await asyncio.sleep(0.001)
    return value


@task(max_retries=3, retry_backoff=0.01)
def third_time(path: str) -> int:
    with Path(path).open("a") as file:
        file.write("x")
    tries = Path(path).stat().st_size
    if tries < 3:
        raise OSError("not yet")
    return tries


@task
def dies_once(path: str) -> str:
    try:
        Path(path).touch(exist_ok=False)
    except FileExistsError:
        return "alive"
    os._exit(9)


@task
def length(content: bytes) -> int:
    return len(content)


@task
def ends_with(kind: str) -> None:
    kinds = {kind.__name__: kind for kind in (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration)}
    raise kinds[kind](3)


@task
def waits_for(path: str) -> str:
    while not Path(path).exists():
        time.sleep(0.01)
    return "seen"


@task
def double(value: int) -> int:
    return 2 * value


@task
def total(values: list[int]) -> int:
    return sum(values)


@task
def fails_for(value: int, bad: list[int]) -> int:
    if value in bad:
        raise ValueError(f"{value} is bad")
    return value


@task
def yields(count: int) -> Iterator[int]:
    yield from range(count)


@task
def tree(depth: int) -> int:
    return 1 if not depth else 1 + sum(tree.remote(depth - 1).get() for _ in range(2))


@task
async def tree_awaited(depth: int) -> int:
    return 1 if not depth else 1 + await tree_awaited.remote(depth - 1)


@task
def asks_dying(path: str) -> str:
    return str(dies_once.remote(path).get())


@task
def asks_slow(path: str) -> str:
    try:
        return str(waits_for.options(time_limit=0.3).remote(path).get())
    except CallTimedOutError:
        return "too slow"


@task
def steps(folder: str, count: int) -> Iterator[str]:
    """Yield a word for each file of a folder, once it is there."""
    for number in range(count):
        while not (Path(folder) / str(number)).exists():
            time.sleep(0.01)
        yield f"step {number}"


@task(max_retries=1, retry_backoff=0.01)
def breaks_once(path: str, count: int) -> Iterator[int]:
    for number in range(count):
        if number == count // 2 and not Path(path).exists():
            Path(path).touch()
            os._exit(9)
        yield number


@task
async def steps_async(count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        await asyncio.sleep(0)
        yield bytes([number]) * 300_000


@task
def yields_then_raises(count: int) -> Iterator[int]:
    yield from range(count)
    raise KeyError("at its end")


@task
def reads(count: int) -> int:
    return sum(yields.remote(count))


@task
def pause(milliseconds: int) -> None:
    time.sleep(milliseconds / 1000)


class WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@task
def raises_what_cannot_be_told(kind: str) -> None:
    if kind == "no text":
        raise WordlessError
    raise ValueError({"no unicode": "\ud800", "no end": "x" * 50_000_000}[kind])


@task
def shuts(stream: str) -> None:
    if stream == "descriptor":
        os.close(1)
    elif stream == "file":
        sys.stdout.close()
    else:
        setattr(sys, "stdout", None)  # noqa: B010  its type says that nobody does


@task
def much(count: int) -> bytes:
    return bytes(count)


@task
def leaves_a_thread_behind() -> int:
    threading.Thread(target=time.sleep, args=(600,)).start()
    return os.getpid()


@task
def asks_without_a_python() -> int:
    handle = add.remote(1)
    python, sys.executable = sys.executable, "/there/is/none"
    try:
        found: int = handle.get(0.7)
    except TimeoutError:
        sys.executable = python
        found = handle.get(60)
    return found


class _Counter:
    """Counts, and remembers what it counted."""

    def __init__(self, start: int = 0) -> None:
        self.value = start

    def add(self, by: int = 1) -> int:
        self.value += by
        return self.value

    async def later(self) -> int:
        return self.value

    def count_to(self, most: int) -> Iterator[int]:
        while self.value < most:
            self.value += 1
            yield self.value

    def pid(self) -> int:
        return os.getpid()

    def wait(self, path: str) -> str:
        Path(path).touch()
        while self.value >= 0:
            time.sleep(0.01)
        return "over"

    async def wait_async(self, path: str) -> None:
        await asyncio.to_thread(Path(path).touch)
        await asyncio.sleep(600)

    def die(self) -> None:
        os._exit(9)

    def die_once(self, path: str) -> str:
        if not Path(path).exists():
            Path(path).touch()
            os._exit(9)
        return "alive"


Counter = task(_Counter)  # as the decorator does; mypy does not look at those of classes
