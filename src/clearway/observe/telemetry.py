"""Spans out to an OpenTelemetry collector, by OTLP over HTTP. Imported only where `telemetry` is set: the extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from clearway import __version__

if TYPE_CHECKING:
    from clearway.observe.spans import Span

SEND_S = 5.0
"""So long one try to send may take: a collector that hangs holds up its own thread only."""


class Telemetry:
    """Sends spans in batches, in a thread of the SDK. Where no collector answers they are dropped in the end."""

    def __init__(self, endpoint: str, headers: dict[str, str]) -> None:
        """Send to `endpoint`/v1/traces."""
        exporter = OTLPSpanExporter(endpoint.rstrip("/") + "/v1/traces", headers=headers, timeout=SEND_S)
        self._out = BatchSpanProcessor(exporter)
        self._scope = InstrumentationScope("clearway", __version__)
        self._resource = Resource({"service.name": "clearway", "service.version": __version__})

    def __call__(self, span: Span) -> None:
        """Take a span."""
        flags = TraceFlags(TraceFlags.SAMPLED)
        parent = None
        if span.parent:
            parent = SpanContext(int(span.trace.number, 16), int(span.parent, 16), is_remote=True, trace_flags=flags)
        links = []
        if span.link is not None:
            trace, number = (int(part, 16) for part in span.link)
            links.append(Link(SpanContext(trace, number, is_remote=True, trace_flags=flags)))
        own = SpanContext(int(span.trace.number, 16), int(span.number, 16), is_remote=False, trace_flags=flags)
        status = Status(StatusCode.ERROR, span.fault) if span.fault else Status(StatusCode.OK)
        told = ReadableSpan(
            span.name, own, parent, self._resource, span.attributes, links=links, kind=SpanKind.INTERNAL,
            status=status, start_time=span.from_us * 1000, end_time=span.to_us * 1000,
            instrumentation_scope=self._scope,
        )  # fmt: skip
        self._out.on_end(told)

    def close(self) -> None:
        """Send what is left."""
        self._out.shutdown()  # type: ignore[no-untyped-call]  # the SDK leaves its types out there
