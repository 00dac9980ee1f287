"""A real Prometheus reads a real controller, by its token, with the rules that are shipped."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import psutil
import pytest

from clearway.config.home import read_running
from tests.api.live import live, until
from tests.api.serving import raw_answer
from tests.house.code import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clearway.sdk.client import Client

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
needs_prometheus = pytest.mark.skipif(PROMETHEUS is None, reason="Prometheus is not installed: make parts")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="Prometheus is not installed: make parts")
RULES = ROOT / "deploy" / "prometheus"
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
scrape_configs:
  - job_name: clearway
    authorization: {{credentials_file: {token}}}
    static_configs: [{{targets: ['{target}']}}]
rule_files: [{rules}]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[Client]:
    with live(place, devices=2, listen="127.0.0.1:0") as found:
        yield found


def port_of(home: Path) -> int:
    running = read_running(home)
    assert running is not None
    return int(running.listen.rpartition(":")[2])


def page(home: Path, *headers: str) -> http.client.HTTPResponse:
    said = "\r\n".join(("GET /metrics HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""))
    return raw_answer(("127.0.0.1", port_of(home)), said.encode())


@pytest.mark.slow
def test_the_page_needs_the_token(place: Path, client: Client) -> None:
    token = (place / "token").read_text().strip()
    assert client.status()["controller"]["state"] == "up"
    assert page(place).status == 401
    assert page(place, "Authorization: Bearer x").status == 401
    answer = page(place, f"Authorization: Bearer {token}")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    body = answer.body.decode()  # type: ignore[attr-defined]
    assert 'clearway_controller_state{state="up"} 1.0' in body
    assert "process_resident_memory_bytes" in body
    assert token not in body


@pytest.mark.slow
def test_open_metrics_is_given_to_who_asks_for_it(place: Path, client: Client) -> None:
    token = (place / "token").read_text().strip()
    assert client.status()["controller"]["state"] == "up"
    answer = page(place, f"Authorization: Bearer {token}", "Accept: application/openmetrics-text; version=1.0.0")
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert answer.body.endswith(b"# EOF\n")  # type: ignore[attr-defined]


@contextmanager
def prometheus(folder: Path, config: str) -> Iterator[int]:
    """Run a Prometheus on a free port, and yield the port."""
    (folder / "prometheus.yml").write_text(config)
    options = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    command = [str(PROMETHEUS), *options, "--web.listen-address=127.0.0.1:0", "--log.level=warn"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    ports: list[int] = []

    def listens() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        ports[:] = [c.laddr.port for c in psutil.Process(process.pid).net_connections("tcp4") if c.status == "LISTEN"]
        return bool(ports)

    try:
        until(listens, "Prometheus listens")
        yield ports[0]
    finally:
        process.terminate()
        process.wait(60)


def asked(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return json.loads(answer.read()) if answer.status == 200 else None
    finally:
        connection.close()


def value(port: int, query: str) -> float | None:
    found = asked(port, f"/api/v1/query?query={quote(query)}")
    series = found["data"]["result"] if found else []
    return float(series[0]["value"][1]) if series else None


@pytest.mark.slow
@pytest.mark.real_engine
@needs_prometheus
def test_prometheus_reads_it(place: Path, client: Client, tmp_path: Path) -> None:
    (done,) = client.submit([{"name": "counted", "run": "true", "gpus": 1}])
    assert client.wait(f"id:{done['id']}", 60)["state"] == "succeeded"
    target, token = f"127.0.0.1:{port_of(place)}", tmp_path / "scrape.token"
    token.write_text(client.make_token({"user": "prometheus", "role": "viewer", "scopes": ["metrics"]})["token"])
    assert page(place, f"Authorization: Bearer {token.read_text()}").status == 200
    with prometheus(tmp_path, CONFIG.format(token=token, target=target, rules=RULES / "alerts.yml")) as port:
        ended = 'clearway_jobs_ended_total{queue="default",state="succeeded"}'
        until(lambda: (value(port, ended) or 0) >= 1, "Prometheus knows of the job that ended")
        assert value(port, 'up{job="clearway"}') == 1
        assert value(port, "clearway_leader") == 1
        assert value(port, "sum(clearway_gpus)") == 2
        assert (value(port, "sum(clearway_decision_seconds_count)") or 0) > 0
        rules = asked(port, "/api/v1/rules")["data"]["groups"][0]["rules"]
        until(lambda: all(r["health"] == "ok" for r in _rules(port)), "every rule has been evaluated")
        assert [r["name"] for r in rules if r["type"] != "alerting"] == []


def _rules(port: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked(port, "/api/v1/rules")["data"]["groups"][0]["rules"]
    return found


@pytest.mark.slow
@needs_promtool
@pytest.mark.parametrize("words", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts.test.yml")])
def test_promtool_approves_of_the_rules(words: tuple[str, ...]) -> None:
    done = subprocess.run([str(PROMTOOL), *words], cwd=RULES, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@needs_promtool
def test_promtool_approves_of_the_page(place: Path, client: Client) -> None:
    assert client.status()["controller"]["state"] == "up"
    answer = page(place, f"Authorization: Bearer {(place / 'token').read_text().strip()}")
    done = subprocess.run(
        [str(PROMTOOL), "check", "metrics"], input=answer.body, capture_output=True, timeout=60, check=False,  # type: ignore[attr-defined]
    )  # fmt: skip
    wrong = [line for line in done.stderr.decode().splitlines() if line.startswith("clearway_")]
    assert wrong == []
    assert done.returncode in {0, 3}  # 3: a hint about a metric of the Python client
