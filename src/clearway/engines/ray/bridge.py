"""The process that is Ray's driver: it does what the engine says, line by line, and tells what it sees.

A driver may be ended by Ray itself when its cluster goes, and may hang with it: the controller must do neither. What it
knows it finds again in the cluster and in its folder when it is started anew.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from clearway.engines.ray.files import Files
from clearway.engines.ray.joins import RefusedError, join
from clearway.engines.ray.watch import Watch
from clearway.engines.ray.work import Work, short

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.engines.ray.cluster import Cluster

    Message = dict[str, Any]

LONGEST_LINE = 1 << 27
MOST_WAITING = 64
"""So many calls may wait for the cluster at once."""


class Bridge:
    """One engine's view of a cluster."""

    def __init__(self, cluster: Cluster, files: Files, say: Callable[[Message], None]) -> None:
        self._say = say
        self._files = files
        self.work = Work(cluster, files, say)
        self.watch = Watch(cluster, self.work, say)

    async def open(self) -> None:
        """Find what is there, and say it."""
        await self.work.find()
        await self.watch.find_others()
        nodes = await self.watch.look()
        gone = self._files.ends()
        over = {end["task"] for end in gone}  # one that ended meanwhile is still being let go of
        for node in nodes:
            node["running"] = [task for task in node["running"] if task not in over]
        self._say({"is": "here", "nodes": nodes, "gone": gone})
        self.work.spawn(self.watch.run())
        self.work.spawn(self.watch.mind_others())
        self.work.spawn(self.work.mind_hosts())

    def hear(self, message: Message) -> None:
        """Do what the engine says."""
        match message["do"]:
            case "launch":
                self.work.launch(message["orders"])
            case "halt":
                self.work.halt(message)
            case "pause":
                self.work.pause(message)
            case "ack":
                self._files.forget(message["tasks"])
            case _:
                self.watch.anew()

    def close(self) -> None:
        """Stop; tasks go on."""
        for task in self.work.running:
            task.cancel()


async def serve(say: Callable[[Message], None]) -> None:
    """Follow the lines on the standard input until they end."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(MOST_WAITING))
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    cluster: Cluster | None = None
    bridge: Bridge | None = None
    while line := await reader.readline():
        message = json.loads(line)
        if message["do"] == "open":
            if bridge is not None:
                bridge.close()
            if cluster is None:
                cluster = await join(message["address"], message["namespace"])
            files = Files(message["home"])
            cluster.term = (message["term"], files.number())
            bridge = Bridge(cluster, files, say)
            bridge.watch.knew(message["nodes"])
            bridge.work.names = {number: name for name, number in message["nodes"].items()}
            await bridge.open()
        elif bridge is not None:
            bridge.hear(message)


def main() -> None:
    """Serve; lines out go where the standard output was, which Ray may not write to."""
    out = os.dup(1)
    os.dup2(2, 1)

    def say(message: Message) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(out, data) :]

    asyncio.run(_to_the_end(say))


async def _to_the_end(say: Callable[[Message], None]) -> None:
    """Serve, and end this process: what Ray's threads still do is of no use to anybody, and may never end."""
    code = 0
    try:
        await serve(say)
    except Exception as error:  # noqa: BLE001  whatever Ray raises: the engine is told, and starts another bridge
        traceback.print_exception(error)
        say({"is": "broken", "text": short(error), "refused": isinstance(error, RefusedError)})
        code = 1
    os._exit(code)


if __name__ == "__main__":
    main()
