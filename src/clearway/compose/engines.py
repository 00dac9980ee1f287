"""Which engine runs the tasks: one maker a name. What an engine needs is imported when it is chosen."""

from __future__ import annotations

import os
import socket
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, NamedTuple

from clearway.compose.stores import engine_home
from clearway.config.home import make_home
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.config.settings import Settings
    from clearway.model.actions import Launch
    from clearway.ports.engine import Engine

ONLY_LOCAL = ("devices", "fleet", "uids")
"""Settings that say something about this machine: other engines know their nodes and users by themselves."""
SLURM_COMMANDS = ("sbatch", "squeue", "sinfo", "scontrol", "scancel")
ANY_ADDRESS = ("0.0.0.0", "[::]")  # noqa: S104  what settings may say; nothing is opened here
PRIVATE = 0o600


class Reach:
    """How tasks on other machines reach the controller: known once its port is open."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.env: dict[str, str] = {}
        """The variables by which `clearway` and workers inside a task find it; none where it has no port."""

    def opened(self, url: str) -> None:
        """Learn at which address the controller listens with a token, "" where it does not."""
        if url:
            at = self._settings.public_url or _without_any(url)
            self.env = {"CLEARWAY_URL": at, "CLEARWAY_TOKEN_FILE": str(self._shared_token())}

    def _shared_token(self) -> Path:
        """Return the file of the token in the home of the engine, which all nodes see."""
        own, shared = self._settings.home / "token", engine_home(self._settings) / "token"
        if own != shared:
            new = shared.with_name(f"token.{os.getpid()}")
            new.touch(PRIVATE)
            new.write_bytes(own.read_bytes())
            new.replace(shared)
        return shared


def _without_any(url: str) -> str:
    """Return an address that other machines can use, of one that listens on all addresses of this one."""
    for anywhere in ANY_ADDRESS:
        url = url.replace(f"//{anywhere}:", f"//{socket.getfqdn()}:")
    return url


class Around(NamedTuple):
    """What an engine is made from. `lead`: which journal is led, and by which term; `traces`: what spans follow from.

    Tasks that run elsewhere find the controller by `reach`; by `mark`, which no other journal has, it finds them.
    """

    settings: Settings
    lead: tuple[str, int]
    traces: str
    reach: Reach
    mark: str = ""

    @property
    def home(self) -> Path:
        """Where an engine keeps its things and tasks their files: all nodes see it."""
        return engine_home(self.settings)


def engine_of(around: Around) -> Engine:
    """Return the engine that settings name. Raises InputError for what it cannot do, EngineError."""
    check_engine(around.settings)
    make_home(around.home)
    return MAKERS[around.settings.engine](around)


def check_engine(settings: Settings) -> None:
    """Raise InputError where settings say what their engine has no use for, or it cannot be had here."""
    if settings.engine == "local":
        if len(settings.fleet) > 1:
            said = [node.name for node in settings.fleet]
            raise InputError("fleet", said, "one node: the engine `local` is this machine")
        return
    for word in ONLY_LOCAL:
        if getattr(settings, word):
            rule = f"not with the engine `{settings.engine}`, which knows its nodes and users by itself"
            raise InputError(word, "(said)", rule)
    if rule := MISSING.get(settings.engine, lambda: "")():
        raise InputError("engine", settings.engine, rule)


def _ray_is_missing() -> str:
    return "what is installed: pip install 'clearway[ray]'" if find_spec("ray") is None else ""


def _slurm_is_missing() -> str:
    missing = [name for name in SLURM_COMMANDS if which(name) is None]
    return f"only where Slurm's commands are: not found on PATH: {', '.join(missing)}" if missing else ""


MISSING: dict[str, Callable[[], str]] = {"ray": _ray_is_missing, "slurm": _slurm_is_missing}
"""What says, by engine, the rule by which it is refused where what it needs of this machine is not there."""


def _local_engine(around: Around) -> Engine:
    from clearway.engines.local.engine import LocalEngine
    from clearway.engines.local.inventory import discover

    settings = around.settings
    machine = discover(around.home, settings.devices, settings.fleet[0] if settings.fleet else None)
    return LocalEngine(
        around.home, machine.node, unhealthy=machine.unhealthy, devices=machine.devices,
        output_size=settings.output_size, lead=around.lead, uids=dict(settings.uids), traces=around.traces,
    )  # fmt: skip


def _ray_engine(around: Around) -> Engine:
    from clearway.engines.local.handed import result_of
    from clearway.engines.local.metrics import Metrics
    from clearway.engines.ray.engine import RayEngine

    return RayEngine(
        around.home, order_of(around), Metrics(around.home), address=around.settings.ray.address,
        lead=(around.mark, around.lead[1]), result_of=partial(result_of, around.home),
    )  # fmt: skip


def _slurm_engine(around: Around) -> Engine:
    from clearway.engines.local.handed import result_of
    from clearway.engines.local.metrics import Metrics
    from clearway.engines.slurm.engine import SlurmEngine

    result, words = partial(result_of, around.home), around.settings.slurm
    return SlurmEngine(around.home, order_of(around), Metrics(around.home), words, result, around.lead)


MAKERS: dict[str, Callable[[Around], Engine]] = {"local": _local_engine, "ray": _ray_engine, "slurm": _slurm_engine}
"""Every engine by the name that the setting `engine` has for it."""


def order_of(around: Around) -> Callable[[Launch], dict[str, Any]]:
    """Return what turns a launch into the order to start it on a machine that sees the engine's home."""
    from clearway.engines.local.orders import launch_order

    def order(launch: Launch) -> dict[str, Any]:
        found = launch_order(launch, around.home, Path.home(), (), around.settings.output_size, around.traces)
        return {**found, "env": {**around.reach.env, **found["env"]}}

    return order
