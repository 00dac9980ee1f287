"""A real controller sends the spans of a job to a small collector in this process, and tells the job its own."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("opentelemetry.proto", reason="needs the extra telemetry")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.api.live import live, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TOKEN = "planted-collector-token"


class Collector(ThreadingHTTPServer):
    """Takes what OpenTelemetry sends."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[Any] = []
        self.shown: set[str] = set()

    def named(self, name: str) -> Any:
        (span,) = [span for span in self.spans if span.name == name]
        return span


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        collector: Collector = self.server  # type: ignore[assignment]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.path == "/v1/traces"
        collector.shown.add(self.headers["Authorization"])
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                collector.spans += scope.spans
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def words(span: Any) -> dict[str, Any]:
    kinds = ("string_value", "int_value", "bool_value")
    return {a.key: next((getattr(a.value, k) for k in kinds if a.value.HasField(k)), None) for a in span.attributes}


@pytest.mark.slow
def test_a_job_is_told_its_span_and_the_collector_all(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "collector.token").write_text(TOKEN + "\n")
    monkeypatch.setenv("TRACEPARENT", GIVEN)
    telemetry = {
        "endpoint": f"http://127.0.0.1:{collector.server_port}",
        "token_file": str(tmp_path / "collector.token"),
    }
    home = tmp_path / "home"
    with live(home, telemetry=telemetry, log_format="json") as client:
        (new,) = client.submit([{"name": "traced", "run": 'echo "$TRACEPARENT"', "env": {"KEY": "planted-in-env"}}])
        assert client.wait(f"id:{new['id']}", 60)["state"] == "succeeded"
        told = b"".join(client.logs(f"id:{new['id']}")).decode().strip()
        names = {"job", "attempt", "task", "cycle"}
        until(lambda: names <= {span.name for span in collector.spans}, "the collector was told all")
        whole, attempt, task = map(collector.named, ("job", "attempt", "task"))
        _, trace, span, flags = told.split("-")
        assert trace == GIVEN.split("-")[1] == task.trace_id.hex() == whole.trace_id.hex()
        assert (span, flags) == (task.span_id.hex(), "01")
        assert (task.parent_span_id, attempt.parent_span_id) == (attempt.span_id, whole.span_id)
        assert whole.parent_span_id.hex() == GIVEN.split("-")[2]
        assert whole.start_time_unix_nano <= task.start_time_unix_nano <= whole.end_time_unix_nano
        (link,) = attempt.links
        assert link.span_id in {one.span_id for one in collector.spans if one.name == "cycle"}
        assert collector.shown == {f"Bearer {TOKEN}"}
        cycle = words(attempt)["clearway.cycle"]
        lines = [json.loads(line) for line in (home / "controller.log").read_text().splitlines()]
        (started,) = [line for line in lines if line["message"] == "started"]
        assert (started["job"], started["cycle"]) == (new["id"], cycle)
        log = (home / "controller.log").read_text()
        assert [word for word in (TOKEN, "planted-in-env", "Bearer") if word in log] == []


@pytest.mark.slow
def test_without_a_collector_a_job_finds_the_span_of_who_submitted_it_and_nothing_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPARENT", GIVEN)
    with live(tmp_path / "home") as client:
        (new,) = client.submit([{"name": "plain", "run": 'echo "$TRACEPARENT"'}])
        assert client.wait(f"id:{new['id']}", 60)["state"] == "succeeded"
        assert b"".join(client.logs(f"id:{new['id']}")).decode().strip() == GIVEN
