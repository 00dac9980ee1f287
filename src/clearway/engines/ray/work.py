"""The lives of tasks, as the bridge sees them: held, hosted, followed to their end, and let go."""

from __future__ import annotations

import asyncio
import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray.exceptions import RayActorError, RayError, RuntimeEnvSetupError

from clearway.engines.parts.cuts import Cuts
from clearway.engines.ray.files import add, written
from clearway.engines.ray.hosts import Hosts, Kind
from clearway.engines.ray.nodes import living
from clearway.engines.ray.orders import LOCAL
from clearway.engines.ray.places import Places

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from clearway.engines.ray.cluster import Cluster
    from clearway.engines.ray.files import Files
    from clearway.engines.ray.nodes import RayNode

    Message = dict[str, Any]

FIND_S = 30.0
"""A host that does not say within this time what it has is on a node that cannot be reached."""
SWEEP_S = 30.0
MIND_S = 0.5
AGAIN_S = 0.5
LOST: Message = {"code": None, "error": ""}


class Life:
    """A task: what was ordered, on which node of Ray's, and what has become of it."""

    def __init__(self, order: Message, number: str, host: Any = None) -> None:  # noqa: ANN401  an actor
        self.order, self.number, self.host = order, number, host
        self.halted = self.up = self.missed = False

    @property
    def key(self) -> str:
        """The text by which the engine knows it."""
        return str(self.order["task"])


class Work:
    """All tasks of a namespace."""

    def __init__(self, cluster: Cluster, files: Files, say: Callable[[Message], None]) -> None:
        self._cluster, self._files, self._say = cluster, files, say
        self.places, self._hosts = Places(cluster), Hosts(cluster)
        self.lives: dict[str, Life] = {}
        self._never: dict[str, None] = {}
        """Tasks that were stopped before they were started: they never are."""
        self.nodes: dict[str, RayNode] = {}
        self.running: set[asyncio.Task[None]] = set()
        self._cuts = Cuts()

    # --- finding ---------------------------------------------------------------------------------

    async def find(self) -> None:
        """Find hosts and places that are there, let go of places without a task, and follow the tasks."""
        self.nodes = living(await asyncio.to_thread(self._cluster.told))
        hosts = await asyncio.to_thread(self._cluster.hosts)
        places = await asyncio.to_thread(self._cluster.places)
        await asyncio.gather(*(self._meet(host) for host in hosts.values()))
        by_place = {life.order["place"]: life for life in self.lives.values()}
        for name, place in places.items():
            life = by_place.get(name)
            if life is None:
                await asyncio.to_thread(self._cluster.let_go, place)
            else:
                self.places.found(life.order, life.number, place)
        for life in self.lives.values():
            self.spawn(self._follow(life))

    async def _meet(self, host: Any) -> None:  # noqa: ANN401  an actor
        try:
            (number, runtime_env), tasks = await asyncio.wait_for(
                asyncio.gather(host.where.remote(), host.holding.remote(self._cluster.term)), FIND_S
            )
        except (RayError, TimeoutError):  # it died, or its node cannot be reached
            return
        for task in tasks:
            life = Life(task["order"], number, host)
            life.up = task["up"]
            self.lives[life.key] = life
        if not tasks:
            self._hosts.give(Kind(number, runtime_env), host)

    def on(self, number: str) -> list[str]:
        """Return the tasks on a node."""
        return sorted(key for key, life in self.lives.items() if life.number == number)

    # --- what the engine says --------------------------------------------------------------------

    def launch(self, orders: list[Message]) -> None:
        """Start tasks, all or none of them; those that are known already are told of again."""
        new = {}
        for order in orders:
            end = self._end_of(order["task"])
            if end is not None:
                self._say({"is": "over", **end})
            elif order["task"] not in self.lives:
                new[order["task"]] = order
        lives = [Life(order, self._number_of(order["node"])) for order in new.values()]
        self.lives |= {life.key: life for life in lives}
        if lives:
            self.spawn(self._start(lives))

    def halt(self, message: Message) -> None:
        """Stop a task."""
        life = self.lives.get(message["task"])
        if life is None:
            if self._end_of(message["task"]) is None:
                self._never[message["task"]] = None
            self._say({"is": "over", **(self._end_of(message["task"]) or {})})
        elif life.number not in {node.number for node in self.nodes.values()}:
            self.spawn(self._finish(life, LOST))
        else:
            life.halted = True
            self._tell(life, message)

    def pause(self, message: Message) -> None:
        """Have a task stand still or go on."""
        life = self.lives.get(message["task"])
        if life is not None:
            self._tell(life, message)

    def _end_of(self, key: str) -> Message | None:
        return {"task": key, **LOST} if key in self._never else self._files.end(key)

    async def mind_hosts(self) -> None:
        """Have on all nodes for ever what starts need, so that they wait for no Python."""
        seen: set[str] = set()
        while True:
            for node in self.nodes.values():
                if node.number in self.places.warm:
                    self._hosts.keep(node, len(self.on(node.number)))
                elif node.number not in seen:
                    seen.add(node.number)
                    self.spawn(self.places.make_warm(node))
            await asyncio.sleep(MIND_S)

    # --- a life ----------------------------------------------------------------------------------

    async def _start(self, lives: list[Life]) -> None:
        """Hold all places and have all hosts there before any task is told to start; where that fails, none is."""
        asked = (*map(self._hold, lives), *map(self._host, lives))
        found = await asyncio.gather(*asked, return_exceptions=True)
        for life, host in zip(lives, found[len(lives) :], strict=True):
            life.host = None if isinstance(host, BaseException) else host
        wrong = [one for one in found if isinstance(one, BaseException)]
        if all(found) and not wrong and not any(life.halted for life in lives):
            for life in lives:
                self.spawn(self._follow(life, new=True))
            return
        end = self._why_not(wrong)
        for life in lives:
            self.spawn(self._finish(life, end))

    async def _hold(self, life: Life) -> bool:
        if not await self.places.hold(life.order, self._node(life)):
            return False
        life.order["place"] = self.places.place_of(life.key)
        return True

    async def _host(self, life: Life) -> Any:  # noqa: ANN401  an actor
        return await self._hosts.take(self._node(life), life.order["runtime_env"])

    def _why_not(self, wrong: list[BaseException]) -> Message:
        """Return how tasks ended that are not started. Raises what must not go wrong."""
        end = LOST
        for error in wrong:
            if isinstance(error, RuntimeEnvSetupError | ValueError | TypeError):
                end = {"code": None, "error": f"Ray cannot make the runtime_env of this job: {short(error)}"}
            elif isinstance(error, RayError | TimeoutError | KeyError):
                self._say({"is": "trouble", "text": f"Ray could not hold a place: {error}"})
            else:
                raise error
        return end

    async def _follow(self, life: Life, *, new: bool = False) -> None:
        """Start a task if it is new, and bring here what it writes until it has ended."""
        try:
            if new:
                await self._begin(life)
            read = {stream: written(path) for stream, path in life.order["files"].items()}
            end = None
            while end is None:
                end = await self._listen(life, read)
        except RayActorError:
            end = await self._after_death(life)
        except (RayError, OSError) as error:
            end = {"code": None, "error": f"the task cannot be handed to its node: {error}"}
        if end is not None:
            await self._finish(life, end)

    async def _begin(self, life: Life) -> None:
        order = life.order
        code = await asyncio.to_thread(Path(order["code"]).read_bytes) if order["code"] else b""
        token = await asyncio.to_thread(Path(order["token"]).read_bytes) if order["token"] else b""
        await life.host.start.remote(self._cluster.term, order, code, token, self._secret_env(order))

    def _secret_env(self, order: Message) -> dict[str, str]:
        """Return the secrets of a task, with the token of a cluster that it may start itself."""
        if order["env"]["RAY_ADDRESS"] != LOCAL:
            return _secrets(order["secrets"])
        own = self._files.token(".".join(order["task"].split(".")[:2]))
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": own, **_secrets(order["secrets"])}

    async def _listen(self, life: Life, read: dict[str, int]) -> Message | None:
        heard = await life.host.listen.remote(life.key, {**read, "up": life.up})
        for stream, data in heard["said"].items():
            read[stream] += len(data)
            add(life.order["files"][stream], data)
        logs = (life.order["files"]["stdout"], life.order["files"]["stderr"])
        before = self._cuts.trouble
        self._cuts.look(filter(None, logs), life.order.get("output_size", 0))
        if self._cuts.trouble != before:
            self._say({"is": "trouble", "text": self._cuts.trouble})
        if heard["up"] and not life.up:
            life.up = True
            self._say({"is": "up", "task": life.key})
        if heard["end"] is not None and life.order["result"]:
            await asyncio.to_thread(Path(life.order["result"]).write_bytes, heard["result"])
        return dict(heard["end"]) if heard["end"] is not None else None

    async def _after_death(self, life: Life) -> Message | None:
        """Its host died: return how it ended once nothing is left of it, None where its node died too."""
        node = next((node for node in self.nodes.values() if node.number == life.number), None)
        if node is None:
            return None
        try:
            ends = await self._cluster.sweep(node, [life.key], SWEEP_S)
        except RayError:  # the node is gone: its lease decides
            return None
        return ends[life.key] or LOST

    def miss(self) -> None:
        """See to tasks whose node died and is there again, with another number: they ended with it."""
        here = {node.number for node in self.nodes.values()}
        for life in self.lives.values():
            node = self.nodes.get(life.order["node"])
            if node is not None and life.host is not None and life.number not in here and not life.missed:
                life.missed = True
                self.spawn(self._after_return(life, node))

    async def _after_return(self, life: Life, node: RayNode) -> None:
        """Its node died and is back: say how it ended once nothing is left of it there."""
        try:
            ends = await self._cluster.sweep(node, [life.key], SWEEP_S)
        except RayError:  # the node is gone again, or something of the task is still there
            life.missed = False
            return
        await self._finish(life, ends[life.key] or LOST)

    async def _finish(self, life: Life, end: Message) -> None:
        """Keep how it ended, let go of all it had, and say so."""
        if self.lives.get(life.key) is not life:
            return
        self._files.keep({"task": life.key, **end})
        if life.host is not None:
            try:
                await life.host.forget.remote(life.key)
                self._hosts.give(Kind(life.number, life.order["runtime_env"]), life.host)
            except RayError:
                life.host = None
        self.spawn(self.places.leave(life.key))
        self.lives.pop(life.key, None)
        self._say({"is": "over", "task": life.key, **end})

    def _tell(self, life: Life, message: Message) -> None:
        if life.host is not None:
            life.host.tell.remote(self._cluster.term, life.key, message)

    def _node(self, life: Life) -> RayNode:
        return next(node for node in self.nodes.values() if node.number == life.number)

    def _number_of(self, name: str) -> str:
        return self.nodes[name].number if name in self.nodes else ""

    def spawn(self, what: Coroutine[Any, Any, None]) -> None:
        """Do something beside all else; what must not go wrong there ends the bridge, and another one begins."""
        task = asyncio.create_task(what)
        self.running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            traceback.print_exception(error)
            self._say({"is": "broken", "text": f"{type(error).__name__}: {error}"})
            os._exit(1)


def short(error: Exception) -> str:
    """Return what Ray says without the traceback of its agent, which comes first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][-500:] if lines else type(error).__name__


def _secrets(places: dict[str, list[str]]) -> dict[str, str]:
    """Read what a task is given, for its own process alone. Raises FileNotFoundError."""
    found = {}
    for name, paths in places.items():
        path = next((Path(one) for one in paths if Path(one).exists()), None)
        if path is None:
            raise FileNotFoundError(2, f"the secret {name} is not set; set it with: clearway secret set {name}")
        found[name] = os.fsdecode(path.read_bytes())
    return found
