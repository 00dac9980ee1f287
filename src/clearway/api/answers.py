"""The forms of bodies and answers, for the description of the API. Moments are texts in ISO 8601.

A route that is not here answers with an object whose words its page explains.
"""

from __future__ import annotations

from typing import Any

import msgspec

Words = dict[str, Any]


class Problem(msgspec.Struct):
    """What went wrong (RFC 9457). `field`, `value`, `rule` and `place` where a value is refused."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    value: str | None = None
    rule: str | None = None
    place: str | None = None


class Reason(msgspec.Struct):
    """A code of docs/reasons, and a sentence."""

    code: str
    text: str


class Array(msgspec.Struct):
    """How many jobs of an array do what."""

    indices: str
    jobs: int
    waiting: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    failed_indices: list[int]


class Job(msgspec.Struct):
    """A job as lists show it."""

    id: int
    name: str
    state: str
    inner_state: str
    queue: str
    priority: int
    user: str
    tenant: str
    submitted: str
    started: str | None
    ended: str | None
    stopped: str | None
    attempt: int
    tasks: int
    gpus: float
    nodes: list[str]
    devices: dict[str, list[int]]
    reason: Reason | None
    exit_code: int | None
    held_by: str | None
    promised: str | None
    array: Array | None
    array_of: int | None
    index: int | None


class Jobs(msgspec.Struct):
    """A page of a list of jobs."""

    jobs: list[Job]
    next: str | None


class Entered(msgspec.Struct):
    """A job that was entered."""

    id: int
    name: str
    warnings: list[str]


class AllEntered(msgspec.Struct):
    """Jobs that were entered, in order."""

    jobs: list[Entered]


class JobWords(msgspec.Struct):
    """Jobs, each by the words of docs/job.md."""

    jobs: list[Words]


class Queue(msgspec.Struct):
    """A queue with its words and how it stands."""

    name: str
    parent: str | None
    guarantee: dict[str, float]
    limit: dict[str, float]
    limit_per_user: dict[str, float]
    weight: int
    borrow: bool
    lend: bool
    order: list[str]
    defaults: Words
    call_rate: str | None
    pending: int
    running: int
    use: dict[str, float]


class Queues(msgspec.Struct):
    """All queues."""

    queues: list[Queue]


class Device(msgspec.Struct):
    """A device, and how much of it is held."""

    number: int
    held: float
    gpu_memory: int
    healthy: bool


class Node(msgspec.Struct):
    """A node: what it has, what is held of it. A resource that it does not mention is null: plenty."""

    name: str
    state: str
    drained: bool
    quiet_since: str | None
    gpus: int
    gpu_model: str | None
    gpu_memory: float | None
    counted_only: bool
    unhealthy: list[int]
    cpus: float | None
    memory: float | None
    disk: float | None
    bandwidth: float | None
    resources: dict[str, int]
    rack: str | None
    zone: str | None
    labels: dict[str, str]
    taints: list[str]
    tasks: int
    use: dict[str, float]
    free_gpus: float
    devices: list[Device]
    slices: list[Words]


class Nodes(msgspec.Struct):
    """All nodes."""

    nodes: list[Node]


class Health(msgspec.Struct):
    """Whether the controller decides and writes."""

    status: str


class Gpus(msgspec.Struct):
    """How many devices there are, held and free."""

    total: int
    held: float
    free: float
    counted_only: int


class Fares(msgspec.Struct):
    """How the controller fares."""

    state: str
    text: str


class Overview(msgspec.Struct):
    """What is so, at a glance."""

    at: str
    health: Fares
    leader: Words
    journal: dict[str, int]
    jobs: dict[str, int]
    queues: list[Words]
    nodes: dict[str, int]
    gpus: Gpus
    waiting: list[Words]


class Timeline(msgspec.Struct):
    """Who held what, in columns; moments in milliseconds since 1970."""

    since: int
    now: int
    left_out: int
    tables: dict[str, list[Any]]
    bars: dict[str, list[int]]
    reservations: list[Words]
    bookings: list[Words]


class Policy(msgspec.Struct):
    """The policy in force."""

    name: str | None
    words: Words | None
    hash: str | None


class Token(msgspec.Struct):
    """A token without its secret."""

    id: str
    user: str
    role: str
    tenant: str | None
    scopes: list[str]
    created: str
    expires: str | None
    by: str


class NewToken(Token):
    """A token with its secret, which is told this once."""

    token: str


class Tokens(msgspec.Struct):
    """All tokens."""

    tokens: list[Token]


class TokenWords(msgspec.Struct, omit_defaults=True):
    """The words of a token."""

    user: str
    role: str
    tenant: str | None = None
    expires: str | float | None = None
    scopes: list[str] | None = None


class Session(msgspec.Struct):
    """Who one is."""

    name: str
    role: str
    tenant: str | None
    via: str
    scopes: list[str]
    csrf: str | None


class Link(msgspec.Struct):
    """A link that is good once."""

    url: str
    until: str


class Change(msgspec.Struct):
    """Who changed what."""

    at: str
    who: str
    role: str
    via: str
    address: str | None
    method: str
    path: str
    status: int
    about: Words


class Changes(msgspec.Struct):
    """Changes, the newest first."""

    changes: list[Change]


class Account(msgspec.Struct):
    """What one tenant, user or queue held in a time."""

    name: str
    gpu_hours: float
    lost_gpu_hours: float
    used_gpu_hours: float | None
    measured_gpu_hours: float
    cost: float
    starts: int
    mean_wait: float | None
    succeeded: int
    failed: int
    cancelled: int


class Report(msgspec.Struct, rename={"from_": "from"}):
    """Accounts of a time."""

    from_: str
    to: str
    by: str
    accounts: list[Account]


class Cycle(msgspec.Struct):
    """One cycle whole. `same`: decided again it comes out as recorded."""

    cycle: int
    at: str
    read: int
    policy: str
    seed: int
    same: bool
    considered: int
    turns: list[Words]
    decided: list[Words]


class FullReason(Reason):
    """A reason with its facts."""

    facts: Words


class Then(msgspec.Struct):
    """Why a job was where it was at a moment."""

    id: int
    name: str
    state: str
    inner_state: str
    at: str
    since: str | None
    reasons: list[FullReason]
    nodes: list[str]
    records: str


class Difference(msgspec.Struct):
    """The first plan that comes out otherwise."""

    cycle: int
    at: str
    record: int | None
    recorded: Words | None
    again: Words | None
    text: str


class Audit(msgspec.Struct):
    """What was decided again."""

    cycles: int
    records: int
    unchecked: int
    first_difference: Difference | None


class Checked(msgspec.Struct):
    """Whether a journal adds up: `faults` say where not."""

    place: str
    records: int
    snapshots: int
    live_jobs: int
    faults: list[str]


API = "/api/v1"
_JOB_VERBS = ("cancel", "suspend", "resume", "hold", "release", "requeue", "set")
ANSWERS: dict[str, Any] = {
    f"GET {API}/health": Health,
    f"GET {API}/overview": Overview,
    f"GET {API}/timeline": Timeline,
    f"GET {API}/policy": Policy,
    f"GET {API}/report": Report,
    f"GET {API}/cycles/{{cycle}}": Cycle,
    f"GET {API}/jobs/{{ref}}/cycle": Cycle,
    f"GET {API}/jobs/{{ref}}/then": Then,
    f"GET {API}/audit": Audit,
    f"GET {API}/journal/check": Checked,
    f"GET {API}/jobs": Jobs,
    f"GET {API}/jobs/{{ref}}": Job,
    f"GET {API}/jobs/{{ref}}/wait": Job,
    f"POST {API}/jobs": AllEntered,
    **{f"POST {API}/jobs/{{ref}}/{verb}": Job for verb in _JOB_VERBS},
    f"GET {API}/queues": Queues,
    f"GET {API}/queues/{{queue}}": Queue,
    f"POST {API}/queues": Queue,
    f"POST {API}/queues/{{queue}}": Queue,
    f"GET {API}/nodes": Nodes,
    f"GET {API}/nodes/{{node}}": Node,
    f"POST {API}/nodes/{{node}}/drain": Node,
    f"GET {API}/devices": Nodes,
    f"GET {API}/tokens": Tokens,
    f"POST {API}/tokens": NewToken,
    f"POST {API}/tokens/{{token}}/revoke": Token,
    f"GET {API}/session": Session,
    f"POST {API}/links": Link,
    f"GET {API}/changes": Changes,
}
"""The form of each answer that has one here."""

BODIES: dict[str, Any] = {
    f"POST {API}/jobs": JobWords,
    f"POST {API}/advice": JobWords,
    f"POST {API}/tokens": TokenWords,
    **dict.fromkeys(
        (
            f"POST {API}/jobs/{{ref}}/set", f"POST {API}/queues", f"POST {API}/queues/{{queue}}",
            f"POST {API}/queues/{{queue}}/preview", f"POST {API}/bookings", f"POST {API}/flows",
            f"POST {API}/flows/{{flow}}/resume", f"POST {API}/flows/{{flow}}/retry", f"POST {API}/flows/{{flow}}/skip",
            f"POST {API}/schedules", f"POST {API}/searches",
        ),
        Words,
    ),
}  # fmt: skip
"""The form of each body in JSON."""

_BYTES, _PACKED = "application/octet-stream", "application/msgpack"
OTHER_BODIES = {
    f"PUT {API}/code/{{digest}}": _BYTES,
    f"PUT {API}/secrets/{{secret}}": _BYTES,
    f"PUT {API}/calls/files/{{name}}": _BYTES,
    **{f"POST {API}/calls{rest}": _PACKED for rest in ("", "/parts", "/turn", "/report", "/poll")},
}
"""What other bodies are."""

OTHER_KINDS: dict[str, tuple[str, ...]] = {
    "GET /metrics": ("text/plain", "application/openmetrics-text"),
    "GET /enter": ("text/html",),
    "POST /enter": ("text/html",),
    f"GET {API}/events": ("text/event-stream",),
    f"GET {API}/history": ("application/x-ndjson",),
    f"GET {API}/journal/backup": (_BYTES,),
    f"GET {API}/journal/bundle": (_BYTES,),
    f"GET {API}/jobs/{{ref}}/logs": (_BYTES, "application/json"),
    f"GET {API}/calls/files/{{name}}": (_BYTES,),
    f"GET {API}/calls/{{call}}/logs": (_BYTES,),
    **{f"POST {API}/calls{rest}": (_PACKED,) for rest in ("", "/parts", "/turn", "/report", "/poll")},
    f"GET {API}/calls/{{call}}/members": (_PACKED,),
    f"GET {API}/calls/{{call}}/failure": (_PACKED,),
}
"""What is answered where that is no JSON."""

STATUSES: dict[str, tuple[int, ...]] = {
    f"POST {API}/jobs": (201,),
    f"POST {API}/bookings": (201,),
    f"POST {API}/flows": (201,),
    f"POST {API}/searches": (201,),
    f"POST {API}/tokens": (201,),
    f"POST {API}/links": (201,),
    f"POST {API}/shutdown": (202,),
    f"GET {API}/health": (200, 503),
    **dict.fromkeys((f"GET {API}/{noun}" for noun in ("queues", "nodes", "schedules", "devices")), (200, 304)),
    f"GET {API}/jobs/{{ref}}/logs": (200, 206),
}
"""The statuses of answers that went well, where that is not 200 alone."""
