"""Which body each route takes, and which forms and statuses its answer has: for the description of the API."""

from __future__ import annotations

from typing import Any

from clearway.api.forms import access, calls, fleet, jobs, policy, usage, whatif, why, work
from clearway.api.forms.access import JobWords, TokenWords
from clearway.api.forms.base import Words

API = "/api/v1"
_JOB_VERBS = ("cancel", "suspend", "resume", "hold", "release", "requeue", "set")
_FLOW_VERBS = ("cancel", "resume", "retry", "skip")
ANSWERS: dict[str, Any] = {
    f"GET {API}/health": fleet.Health,
    f"GET {API}/status": fleet.Status,
    f"GET {API}/overview": fleet.Overview,
    f"GET {API}/timeline": usage.Timeline,
    f"GET {API}/waste": usage.Waste,
    f"GET {API}/policy": policy.Policy,
    f"GET {API}/policy/comparison": policy.Compared,
    **{f"POST {API}/policy/{verb}": policy.PolicyNow for verb in ("shadow", "shadow/end", "promote", "rollback")},
    f"GET {API}/report": usage.Report,
    f"GET {API}/load": usage.Load,
    f"GET {API}/forecasts": usage.Forecasts,
    f"GET {API}/cycles/{{cycle}}": why.Cycle,
    f"GET {API}/jobs/{{ref}}/cycle": why.Cycle,
    f"GET {API}/jobs/{{ref}}/then": why.Then,
    f"GET {API}/audit": why.Audit,
    f"GET {API}/journal/check": why.Checked,
    f"GET {API}/whatifs": whatif.Whatifs,
    f"POST {API}/whatifs": whatif.Whatif,
    f"GET {API}/whatifs/{{whatif}}": whatif.WholeWhatif,
    f"POST {API}/whatifs/{{whatif}}/remove": whatif.WhatifGone,
    f"GET {API}/jobs": jobs.Jobs,
    f"GET {API}/jobs/{{ref}}": jobs.JobShown,
    f"GET {API}/jobs/{{ref}}/events": jobs.JobEvents,
    f"GET {API}/jobs/{{ref}}/why": why.Why,
    f"GET {API}/jobs/{{ref}}/outlook": why.Outlook,
    f"GET {API}/jobs/{{ref}}/wait": jobs.Job,
    f"GET {API}/jobs/{{ref}}/logs": jobs.Log,
    f"POST {API}/advice": why.Advice,
    f"POST {API}/jobs": jobs.AllEntered,
    **{f"POST {API}/jobs/{{ref}}/{verb}": jobs.Job for verb in _JOB_VERBS},
    f"GET {API}/queues": fleet.Queues,
    f"GET {API}/queues/{{queue}}": fleet.QueueNow,
    f"POST {API}/queues": fleet.Queue,
    f"POST {API}/queues/{{queue}}": fleet.QueueNow,
    f"POST {API}/queues/{{queue}}/preview": fleet.Preview,
    f"GET {API}/nodes": fleet.Nodes,
    f"GET {API}/nodes/{{node}}": fleet.Node,
    f"POST {API}/nodes/{{node}}/drain": fleet.Node,
    f"GET {API}/devices": fleet.Devices,
    f"POST {API}/config/reload": fleet.Reloaded,
    f"POST {API}/shutdown": fleet.Stopping,
    f"GET {API}/budgets": usage.Budgets,
    f"GET {API}/bookings": work.Bookings,
    f"POST {API}/bookings": work.Booking,
    f"POST {API}/bookings/{{booking}}/cancel": work.Unbooked,
    f"GET {API}/flows": work.Flows,
    f"GET {API}/flows/{{flow}}": work.FlowShown,
    f"POST {API}/flows": work.Flow,
    **{f"POST {API}/flows/{{flow}}/{verb}": work.Flow for verb in _FLOW_VERBS},
    f"GET {API}/schedules": work.Schedules,
    f"GET {API}/schedules/{{schedule}}": work.Schedule,
    f"GET {API}/schedules/{{schedule}}/ticks": work.ScheduleAhead,
    f"POST {API}/schedules": work.Schedule,
    f"POST {API}/schedules/{{schedule}}/pause": work.Schedule,
    f"POST {API}/schedules/{{schedule}}/resume": work.Schedule,
    f"POST {API}/schedules/{{schedule}}/remove": work.Removed,
    f"GET {API}/searches": work.Searches,
    f"GET {API}/searches/{{search}}": work.SearchShown,
    f"POST {API}/searches": work.Search,
    f"POST {API}/searches/{{search}}/cancel": work.Search,
    f"GET {API}/calls": calls.Calls,
    f"GET {API}/calls/{{call}}": calls.Call,
    f"GET {API}/calls/{{call}}/why": calls.CallWhy,
    f"POST {API}/calls/{{call}}/cancel": calls.CallNumber,
    f"POST {API}/calls/actors/{{key}}/end": calls.Actor,
    f"PUT {API}/calls/files/{{name}}": calls.File,
    f"GET {API}/code/{{digest}}": calls.Code,
    f"PUT {API}/code/{{digest}}": calls.Code,
    f"GET {API}/secrets": calls.Secrets,
    f"PUT {API}/secrets/{{secret}}": calls.Secret,
    f"POST {API}/secrets/{{secret}}/remove": calls.Secret,
    f"GET {API}/tokens": access.Tokens,
    f"POST {API}/tokens": access.NewToken,
    f"POST {API}/tokens/{{token}}/revoke": access.Token,
    f"GET {API}/session": access.Session,
    f"POST {API}/session/end": access.SessionEnded,
    f"POST {API}/links": access.Link,
    f"GET {API}/changes": access.Changes,
    f"GET {API}/openapi.json": access.Described,
}
"""The form of each answer in JSON."""

BODIES: dict[str, Any] = {
    f"POST {API}/jobs": JobWords,
    f"POST {API}/advice": JobWords,
    f"POST {API}/tokens": TokenWords,
    f"POST {API}/whatifs": whatif.WhatifWords,
    f"POST {API}/policy/shadow": policy.ShadowWords,
    f"POST {API}/policy/promote": policy.PromoteWords,
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
    f"GET {API}/whatifs/{{whatif}}/page": ("text/html",),
    f"GET {API}/journal/backup": (_BYTES,),
    f"GET {API}/journal/bundle": (_BYTES,),
    f"GET {API}/jobs/{{ref}}/logs": (_BYTES, "application/json"),
    f"GET {API}/calls/files/{{name}}": (_BYTES,),
    f"GET {API}/calls/{{call}}/logs": (_BYTES,),
    **{f"POST {API}/calls{rest}": (_PACKED,) for rest in ("", "/parts", "/turn", "/report", "/poll")},
    f"GET {API}/calls/{{call}}/members": (_PACKED,),
    f"GET {API}/calls/{{call}}/items": (_PACKED,),
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
    f"POST {API}/whatifs": (202,),
    f"GET {API}/health": (200, 503),
    **dict.fromkeys((f"GET {API}/{noun}" for noun in ("queues", "nodes", "schedules", "devices")), (200, 304)),
    f"GET {API}/jobs/{{ref}}/logs": (200, 206),
}
"""The statuses of answers that went well, where that is not 200 alone."""
