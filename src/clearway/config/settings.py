"""How a controller is set up: one tree, read from HOME/clearway.yaml and the options of its command.

Queues, limits, fleet and policy are the same words as everywhere. Each setting has its unit, its default
and its reason in `SETTINGS`; docs/settings.md is checked against that table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clearway.config.access_words import (
    Oidc,
    check_reach,
    read_listen,
    read_oidc,
    read_proxies,
    read_rate,
    read_tls,
    read_url,
)
from clearway.config.engine_words import ENGINES, Ray, Slurm, read_ray, read_slurm
from clearway.config.notices import Mail, Webhook, read_notices
from clearway.config.telemetry import Telemetry, read_telemetry
from clearway.config.tenants import Tenant, read_tenants
from clearway.config.yaml_file import read_yaml
from clearway.model import values as v
from clearway.model.budgets import BudgetSpec, read_budget
from clearway.model.errors import InputError, UnknownWordError
from clearway.model.fleet import LimitSpec, NodeSpec, PolicySpec, QueueSpec
from clearway.model.machine_words import read_limit, read_nodes, read_policy, read_queue
from clearway.model.words import RIGHT_SIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_DEVICES = 1024
MEBI = 2**20
MOST_UID = 2**32 - 2


class Settings(msgspec.Struct, frozen=True):
    """All settings of one controller, read and checked. What each means stands in `SETTINGS`."""

    home: Path
    engine: str = "local"
    ray: Ray = Ray()
    slurm: Slurm = Slurm()
    devices: int | None = None
    fleet: tuple[NodeSpec, ...] = ()
    queues: tuple[QueueSpec, ...] = ()
    limits: tuple[LimitSpec, ...] = ()
    budgets: tuple[BudgetSpec, ...] = ()
    policy: str | PolicySpec = "fair"
    listen: tuple[str, int] | None = None
    synchronous: str = "full"
    kept_finished: int = 10_000
    body_limit: int = 32 * MEBI
    value_limit: int = 16 * 1024 * MEBI
    most_calls: int = 1_000_000
    max_priority: int = 0
    log_size: int = 10 * MEBI
    output_size: int = 1024 * MEBI
    boosted_trees: bool = False
    right_size: str = "suggest"
    store: str = "sqlite"
    engine_home: Path | None = None
    snapshot_every: int = 100_000
    retention_us: int | None = None
    tenants: tuple[Tenant, ...] = ()
    uids: tuple[tuple[str, int], ...] = ()
    telemetry: Telemetry | None = None
    log_format: str = "text"
    tls: tuple[Path, Path] | None = None
    behind_proxy: tuple[str, ...] = ()
    public_url: str = ""
    rate_limit: int = 100
    oidc: Oidc | None = None
    notices: tuple[Webhook | Mail, ...] = ()


class Setting(NamedTuple):
    """One setting: how it is read, its unit, its default as people write it, and why one would change it."""

    read: Callable[[str, object], Any]
    unit: str
    default: str
    why: str


def read_fleet(field: str, value: object) -> tuple[NodeSpec, ...]:
    """Read `{nodes: [..]}`, or the path of a file that holds it (or `fleet: {nodes: [..]}`)."""
    if isinstance(value, str):
        found = read_yaml(Path(v.name(field, value)).expanduser())
        value = found["fleet"] if isinstance(found, dict) and set(found) == {"fleet"} else found
    if not isinstance(value, dict):
        raise InputError(field, value, "{nodes: [..]}, or the path of a file with it")
    for key in value:
        if key != "nodes":
            raise UnknownWordError.of(key, ("nodes",), field)
    nodes = [node for raw in _list("nodes", value.get("nodes")) for node in read_nodes(raw)]
    return _distinct("nodes", nodes)


def _list(field: str, value: object) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InputError(field, value, "a list")
    return list(value)


def _distinct(field: str, found: list[Any]) -> tuple[Any, ...]:
    seen: set[str] = set()
    for item in found:
        if item.name in seen:
            raise InputError(field, item.name, "each name stands once")
        seen.add(item.name)
    return tuple(found)


def _queues(field: str, value: object) -> tuple[QueueSpec, ...]:
    return _distinct(field, [read_queue(raw) for raw in _list(field, value)])


def _limits(field: str, value: object) -> tuple[LimitSpec, ...]:
    return _distinct(field, [read_limit(raw) for raw in _list(field, value)])


def _budgets(field: str, value: object) -> tuple[BudgetSpec, ...]:
    return _distinct(field, [read_budget(raw) for raw in _list(field, value)])


def _policy(field: str, value: object) -> str | PolicySpec:
    return read_policy(value) if isinstance(value, dict) else v.name(field, value)


def _engine(field: str, value: object) -> str:
    return v.choice(field, value, ENGINES)


def _devices(field: str, value: object) -> int:
    return v.count(field, value, 0, MAX_DEVICES)


def _synchronous(field: str, value: object) -> str:
    return v.choice(field, value, ("full", "normal"))


def _body_limit(field: str, value: object) -> int:
    return v.count(field, v.size(field, value), 1024, v.MAX_BYTES)


def _most_calls(field: str, value: object) -> int:
    return v.count(field, value, 1, 10**9)


def _log_size(field: str, value: object) -> int:
    return v.count(field, v.size(field, value), 64 * 1024, v.MAX_BYTES)


def _store(field: str, value: object) -> str:
    said = v.text(field, value)
    if said != "sqlite" and not said.startswith("postgresql://"):
        raise InputError(field, "another text", "sqlite, or postgresql://USER@HOST:PORT/DATABASE")
    return said


def _engine_home(field: str, value: object) -> Path:
    found = Path(v.name(field, value)).expanduser()
    if not found.is_absolute():
        raise InputError(field, value, "a path that begins with / or ~")
    return found


def _log_format(field: str, value: object) -> str:
    return v.choice(field, value, ("text", "json"))


def _uids(field: str, value: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict):
        raise InputError(field, value, "a map of users to uids")
    return tuple((v.name(field, user), v.count(f"{field}.{user}", uid, 1, MOST_UID)) for user, uid in value.items())


def _snapshot_every(field: str, value: object) -> int:
    return v.count(field, value, 1000, 10**9)


def _retention(field: str, value: object) -> int | None:
    return None if value == "for ever" else v.duration(field, value)


SETTINGS: dict[str, Setting] = {
    "engine": Setting(
        _engine, "name", "local", "what runs the tasks: `local` is this machine, `ray` and `slurm` clusters"
    ),
    "ray": Setting(read_ray, "map", "its defaults", "which Ray cluster is used, with `engine: ray`"),
    "slurm": Setting(read_slurm, "map", "its defaults", "what of a Slurm cluster is used, with `engine: slurm`"),
    "devices": Setting(
        _devices, "devices", "what is found", "so many devices that are only counted, for a machine without GPUs"
    ),
    "fleet": Setting(
        read_fleet, "map, or path of a file", "this machine", "declares nodes and devices that are only counted"
    ),
    "queues": Setting(_queues, "list", "the queue `default`", "who shares the machine, with guarantees and limits"),
    "limits": Setting(_limits, "list", "none", "what few jobs may use at once: licences, a database"),
    "budgets": Setting(
        _budgets,
        "list",
        "none",
        "what a tenant or a queue may hold or cost in a day, week or month: docs/budgets.md",
    ),
    "uids": Setting(
        _uids,
        "map",
        "none",
        "with which uid each user's tasks run; a user without one runs nothing. For controllers of root's",
    ),
    "tenants": Setting(
        read_tenants,
        "list",
        "none",
        "which users belong together, which queues are theirs alone, what holds for their jobs",
    ),
    "policy": Setting(
        _policy, "name, or map", "fair", "who goes first: a bundle or orders by name, or the words of a policy"
    ),
    "listen": Setting(
        read_listen,
        "address:port",
        "not",
        "HTTP with a token: on loopback for tools that know no Unix socket, or beyond",
    ),
    "tls": Setting(read_tls, "map", "not", "`cert` and `key`: speak TLS at `listen`, so that others may come in"),
    "behind_proxy": Setting(
        read_proxies,
        "addresses",
        "not",
        "only these reverse proxies are answered at `listen`; they speak TLS before it",
    ),
    "public_url": Setting(read_url, "address", "as `listen`", "under which people reach it: what links begin with"),
    "rate_limit": Setting(
        read_rate, "requests a second", "100", "of each token; twice as many at once. The socket has no limit"
    ),
    "oidc": Setting(read_oidc, "map", "not", "whose identities are believed, and what role each has"),
    "synchronous": Setting(
        _synchronous,
        "`full` or `normal`",
        "full",
        "`normal` is several times faster on slow disks, and may lose the last moments at a power cut, never at a kill",
    ),
    "kept_finished": Setting(
        v.count, "jobs", "10000", "so many finished jobs stay at hand for lists; older ones are in the journal only"
    ),
    "right_size": Setting(
        lambda field, value: v.choice(field, value, RIGHT_SIZES),
        "suggest, apply or off",
        "suggest",
        "what becomes of it where runs of the like took less than a job asks for that does not say: see docs/needs.md",
    ),
    "boosted_trees": Setting(
        v.flag,
        "yes or no",
        "no",
        "boosted trees speak in forecasts of run times beside past runs; needs the extra learn",
    ),
    "body_limit": Setting(
        _body_limit, "size", "32MiB", "largest body of a request: bounds the memory that one request can take"
    ),
    "value_limit": Setting(
        _body_limit, "size", "16GiB", "largest value of a call that is too large for a row: bounds the disk it can take"
    ),
    "max_priority": Setting(
        v.priority,
        "whole number",
        "0",
        "highest priority that a submitter may ask for; a tenant may have its own, queues may give more by default",
    ),
    "most_calls": Setting(
        _most_calls,
        "calls",
        "1000000",
        "so many calls of tasks may wait and run; whoever makes more waits till there is room",
    ),
    "output_size": Setting(
        _log_size, "size", "1GiB", "what a task writes to stdout or stderr is cut in the middle beyond this"
    ),
    "store": Setting(
        _store,
        "`sqlite`, or postgresql://..",
        "sqlite",
        "where the journal is: a file in the home, or a PostgreSQL database that a standby shares",
    ),
    "engine_home": Setting(
        _engine_home,
        "path",
        "the home",
        "where the engine keeps its things and tasks their files: a standby names that of its leader; all nodes see it",
    ),
    "snapshot_every": Setting(
        _snapshot_every,
        "records",
        "100000",
        "so many records are read again at a start, about three seconds; fewer mean more writing in between",
    ),
    "retention": Setting(
        _retention,
        "duration, or `for ever`",
        "for ever",
        "so long after its end a job's records and its output are kept: bounds the disk they take, and how far back "
        "`why` and a replay reach",
    ),
    "log_size": Setting(_log_size, "size", "10MiB", "controller.log begins anew at this size; three old ones are kept"),
    "log_format": Setting(
        _log_format,
        "`text` or `json`",
        "text",
        "`json`: one object a line, for programs; it also tells each move of a job, with job, attempt and cycle",
    ),
    "notices": Setting(
        read_notices, "list", "none", "who is told of jobs, deadlines, waste and trouble: docs/notices.md"
    ),
    "telemetry": Setting(
        read_telemetry, "map", "not", "sends spans of each job's life to an OpenTelemetry collector: docs/traces.md"
    ),
}
"""Every word of clearway.yaml."""
FIELDS = {"retention": "retention_us"}
"""Words whose value has another name inside, where it has a unit."""


def read_settings(home: Path, raw: object, place: str) -> Settings:
    """Read a map of settings. Raises InputError naming key, place and rule."""
    if raw is None:
        return Settings(home)
    if not isinstance(raw, dict):
        raise InputError("settings", raw, "a map of settings", place)
    for key in raw:
        if key not in SETTINGS:
            raise UnknownWordError.of(key, SETTINGS, place)
    try:
        given = {key: SETTINGS[key].read(key, value) for key, value in raw.items() if value is not None}
    except InputError as error:
        raise (error if error.place else error.at(place)) from None
    return Settings(home, **{FIELDS.get(key, key): value for key, value in given.items()})


def load_settings(home: Path, options: Mapping[str, object] | None = None) -> Settings:
    """Return the settings of HOME/clearway.yaml with `options` (the same words) laid over them."""
    path = home / "clearway.yaml"
    from_file = read_yaml(path) if path.exists() else None
    base = read_settings(home, from_file, str(path))
    laid = {key: value for key, value in (options or {}).items() if value is not None}
    over = read_settings(home, laid, "options of the command")
    fields = [FIELDS.get(key, key) for key in laid]
    found = msgspec.structs.replace(base, **{field: getattr(over, field) for field in fields})
    check_reach(found.listen, found.tls, found.behind_proxy)
    return found
