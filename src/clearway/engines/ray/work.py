"""The lives of tasks, as the bridge sees them: held, hosted, followed to their end, and let go."""

from __future__ import annotations

import asyncio
import os
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from ray.exceptions import ActorUnavailableError, RayError, RuntimeEnvSetupError

from clearway.engines.parts.cuts import Cuts
from clearway.engines.parts.given import secrets_in
from clearway.engines.ray.answers import Ends, Heard, Met
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
AFTER_S = 3.0
"""So long after a start that failed it is told: by then it is seen what others took, and the next one is elsewhere."""
AGAIN_S = 0.5
LOST: Message = {"code": None, "error": ""}


class Life:
    """A task: what was ordered, on which node of Ray's, and what has become of it."""

    def __init__(self, order: Message, number: str, host: Any = None) -> None:  # noqa: ANN401  an actor
        self.order, self.number, self.host = order, number, host
        self.begun = self.sent = host is not None
        """Its host has its order, or may have. What it is told before waits in `wishes`, the last of each kind."""
        self.wishes: dict[str, Message] = {}
        self.halted = self.up = self.missed = self.over = False

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
        self.names: dict[str, str] = {}
        """The names of nodes by their number."""
        self.running: set[asyncio.Task[None]] = set()
        self._cuts = Cuts()

    # --- finding ---------------------------------------------------------------------------------

    async def look(self) -> None:
        """See which nodes live."""
        self.nodes = living(await asyncio.to_thread(self._cluster.told), self.names)
        self.names = {node.number: name for name, node in self.nodes.items()}

    async def find(self) -> None:
        """Find hosts and places that are there, let go of places without a task, and follow the tasks."""
        await self.look()
        hosts = await asyncio.to_thread(self._cluster.hosts)
        places = await asyncio.to_thread(self._cluster.places)
        self.lives = {order["task"]: Life(order, self._number_of(order["node"])) for order in self._files.orders()}
        for known in self.lives.values():
            known.begun = known.sent = True
        by_place = {life.order["place"]: life for life in self.lives.values()}
        for name, place in places.items():
            life = by_place.get(name)
            if life is None:
                await asyncio.to_thread(self._cluster.let_go, place)
            else:
                self.places.found(life.order, life.number, place)
        for host in hosts.values():
            self.spawn(self._meet(host))
        if self.running:
            await asyncio.wait(set(self.running), timeout=FIND_S)
        for known in self.lives.values():
            if known.host is None:
                self.spawn(self._see_after(known))

    async def _meet(self, host: Any) -> None:  # noqa: ANN401  an actor
        """Take over what a host has: what it is, is read in what was ordered, and is no word of its node."""
        try:
            answers = await asyncio.gather(host.where.remote(), host.holding.remote(self._cluster.term))
            met = msgspec.convert(answers, Met)
        except (RayError, msgspec.ValidationError) as error:  # it died, or is none of ours
            self._mind_term(error)
            return
        number, runtime_env = met.where
        for task in met.tasks:
            life = self.lives.get(task.order.task)
            if life is not None and not life.over:
                life.number, life.host, life.up = number, host, task.up
                self._tell_all(life)
                self.spawn(self._follow(life))
        if not met.tasks:
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
                new[order["task"]] = Life(order, self._number_of(order["node"]))
        self.lives |= new
        if new:
            self.spawn(self._start([*new.values()]))

    def halt(self, message: Message) -> None:
        """Stop a task."""
        life = self.lives.get(message["task"])
        if life is None:
            if self._end_of(message["task"]) is None:
                self._never[message["task"]] = None
            self._say({"is": "over", **(self._end_of(message["task"]) or {})})
        elif life.sent and self._node(life) is None:
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
                self.spawn(self._follow(life))
            return
        end = self._why_not(wrong)
        if end is LOST and not any(life.halted for life in lives):
            await asyncio.sleep(AFTER_S)
        for life in lives:
            self.spawn(self._finish(life, end))

    async def _hold(self, life: Life) -> bool:
        node = self._node(life)
        if node is None or not await self.places.hold(life.order, node):
            return False
        life.order["place"] = self.places.place_of(life.key)
        return True

    async def _host(self, life: Life) -> Any:  # noqa: ANN401  an actor
        node = self._node(life)
        return node and await self._hosts.take(node, life.order["runtime_env"])

    def _why_not(self, wrong: list[BaseException]) -> Message:
        """Return how tasks ended that are not started. Raises what must not go wrong."""
        end = LOST
        for error in wrong:
            if isinstance(error, RayError | TimeoutError) and not isinstance(error, RuntimeEnvSetupError):
                self._mind_term(error)
                self._trouble(f"Ray could not hold a place: {short(error)}")
            elif isinstance(error, RuntimeEnvSetupError | ValueError | TypeError):
                end = {"code": None, "error": f"Ray cannot make the runtime_env of this job: {short(error)}"}
            else:
                raise error
        return end

    async def _follow(self, life: Life) -> None:
        """Start a task where it is new, and bring here what it writes until it has ended, or its node is gone."""
        end: Message | None = None
        while end is None and self._node(life) is not None and not life.over:
            try:
                end = await (self._listen(life) if life.begun else self._begin(life))
            except ActorUnavailableError:  # it, or its node, stands still or cannot be reached
                await asyncio.sleep(AGAIN_S)
            except (RayError, msgspec.ValidationError) as error:
                self._mind_term(error)
                life.host = None
                await self._see_after(life)
                return
            except OSError as error:  # of this machine: what runs there is not ended by it
                self._trouble(f"what a task writes cannot be kept: {error}")
                await asyncio.sleep(AGAIN_S)
        if end is not None or not life.sent:
            await self._finish(life, end or LOST)
        else:  # it may have begun there
            await self._see_after(life)

    async def _begin(self, life: Life) -> Message | None:
        """Hand a task to its host; return how it ended where it cannot be."""
        order = life.order
        try:
            code = await asyncio.to_thread(Path(order["code"]).read_bytes) if order["code"] else b""
            token = await asyncio.to_thread(Path(order["token"]).read_bytes) if order["token"] else b""
            secrets = secrets_in(order["secrets"])
        except OSError as error:
            return {"code": None, "error": f"the task cannot be handed to its node: {error}"}
        if life.halted:
            return LOST
        self._files.note(order)
        life.sent = True
        secrets = {**self._own_token(order), **secrets}
        await life.host.start.remote(self._cluster.term, order, code, token, secrets)
        life.begun = True
        self._tell_all(life)
        return None

    def _own_token(self, order: Message) -> dict[str, str]:
        """Return the token of a cluster that a task may start itself."""
        if order["env"]["RAY_ADDRESS"] != LOCAL:
            return {}
        own = self._files.token(".".join(order["task"].split(".")[:2]))
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": own}

    async def _listen(self, life: Life) -> Message | None:
        order = life.order
        read = {stream: written(path) for stream, path in order["files"].items()}
        answer = await life.host.listen.remote(self._cluster.term, life.key, {**read, "up": life.up})
        heard = msgspec.convert(answer, Heard)
        for stream, path in order["files"].items():
            add(path, heard.said.get(stream, b""))
        before = self._cuts.trouble
        self._cuts.look(filter(None, map(order["files"].get, ("stdout", "stderr"))), order.get("output_size", 0))
        if self._cuts.trouble != before:
            self._trouble(self._cuts.trouble)
        if heard.up and not life.up:
            life.up = True
            self._say({"is": "up", "task": life.key})
        if heard.end is not None and order["result"]:
            await asyncio.to_thread(Path(order["result"]).write_bytes, heard.result)
        return None if heard.end is None else heard.end.told()

    def miss(self) -> None:
        """See to tasks whose node died: they ended with it, which is known once it is there again by another number."""
        here = {node.number for node in self.nodes.values()}
        for life in self.lives.values():
            if life.number not in here and life.sent and not life.missed:
                life.host = None
                self.spawn(self._see_after(life))

    def leave(self, name: str) -> None:
        """Give up tasks of a node that will not come back."""
        for life in list(self.lives.values()):
            if life.order["node"] == name and self._node(life) is None:
                self.spawn(self._finish(life, LOST))

    async def _see_after(self, life: Life) -> None:
        """Its host died, maybe with its node: say how it ended once nothing is left of it there."""
        if life.missed:
            return
        life.missed = True
        while life.host is None and not life.over:
            node = self._node(life)
            if node is None:  # Ray holds nothing on a node that is gone
                await self.places.leave(life.key)
                node = self.nodes.get(life.order["node"])
            end = await self._sweep(node, life.key) if node is not None else None
            if end is not None and life.host is None:
                await self._finish(life, end)
                return
            await asyncio.sleep(AGAIN_S)
        life.missed = False

    async def _sweep(self, node: RayNode, key: str) -> Message | None:
        """Return how a task ended once nothing is left of it on a node, None where that is not so."""
        try:
            ends = msgspec.convert(await self._cluster.sweep(node, [key], SWEEP_S), Ends)
        except (RayError, msgspec.ValidationError):
            return None
        end = ends.get(key)
        return LOST if end is None else end.told()

    async def _finish(self, life: Life, end: Message) -> None:
        """Keep how it ended, let go of all it had, and say so."""
        if life.over:
            return
        life.over = True
        await self._keep({"task": life.key, **end})
        if life.host is not None:
            try:
                await life.host.forget.remote(self._cluster.term, life.key)
                self._hosts.give(Kind(life.number, life.order["runtime_env"]), life.host)
            except RayError as error:
                self._mind_term(error)
                life.host = None
        self.spawn(self.places.leave(life.key))
        self.lives.pop(life.key, None)
        self._files.drop(life.key)
        self._say({"is": "over", "task": life.key, **end})

    async def _keep(self, end: Message) -> None:
        while True:
            try:
                self._files.keep(end)
            except OSError as error:  # a full disk: nothing is let go before the end is kept
                self._trouble(f"the end of a task cannot be kept: {error}")
                await asyncio.sleep(AGAIN_S)
            else:
                return

    def _tell(self, life: Life, message: Message) -> None:
        life.wishes[message["do"]] = message
        if life.begun and life.host is not None:
            life.host.tell.remote(self._cluster.term, life.key, message)

    def _tell_all(self, life: Life) -> None:
        for message in life.wishes.values():
            life.host.tell.remote(self._cluster.term, life.key, message)

    def _node(self, life: Life) -> RayNode | None:
        return next((node for node in self.nodes.values() if node.number == life.number), None)

    def _number_of(self, name: str) -> str:
        return self.nodes[name].number if name in self.nodes else ""

    def _trouble(self, text: str) -> None:
        self._say({"is": "trouble", "text": text})

    def _mind_term(self, error: Exception) -> None:
        """End the bridge where another one leads."""
        if isinstance(error, PermissionError):
            self._say({"is": "broken", "text": f"another controller leads: {short(error)}"})
            os._exit(1)

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
