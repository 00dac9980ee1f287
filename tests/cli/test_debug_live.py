"""`clearway top` and `clearway debug` on a real controller: a screen that a key leaves, a bundle without secrets."""

from __future__ import annotations

import json
import os
import pty
import select
import tarfile
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.live import PATIENCE_S, Product, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRETS = ("planted-env-value", "planted-argument", "planted-in-a-flow", "planted-in-yaml", "planted-in-defaults")
SETTINGS = """
devices: 2
listen: 127.0.0.1:0
queues: [{name: team, defaults: {env: {DEFAULT: planted-in-defaults}}}]
"""
FLOW = """
name: two
steps:
  - {name: one, run: "echo '[1, 2]' > $CLEARWAY_RESULT", env: {KEY: planted-in-a-flow}}
  - {name: each, after: one, each: one.result, run: "true"}
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    home = tmp_path_factory.mktemp("home")
    (home / "clearway.yaml").write_text(SETTINGS)
    (home / "clearway.yaml").chmod(0o600)
    found = Product(home)
    assert found.starting("up", "--detach").code == 0
    yield found
    found.stop()


def bundle(product: Product, folder: Path) -> Path:
    file = folder / "b.tar.gz"
    made = product.json("debug", "bundle", str(file))
    assert made["redacted"] > 0
    return file


@pytest.mark.slow
def test_a_bundle_holds_no_secret_and_is_decided_again_elsewhere(product: Product, tmp_path: Path) -> None:
    for at, words in enumerate([("--gpus", "1"), ("--gpus", "2"), ("--gpus", "1", "--queue", "team")]):
        env = ("--env", "KEY=planted-env-value")
        product.run("sh", "-c", "true # --token=planted-argument", words=(*words, *env, "--name", f"job-{at}"))
    (tmp_path / "flow.yaml").write_text(FLOW)
    assert product("flow", "run", str(tmp_path / "flow.yaml"), "--wait").code == 0
    for at in range(3):
        product("wait", f"job-{at}")
    with (product.home / "controller.log").open("a") as log:
        log.write("a line with planted-env-value and Authorization: Bearer planted-in-yaml\n")
    token = (product.home / "token").read_text().strip()
    file = bundle(product, tmp_path)
    assert file.stat().st_mode & 0o077 == 0
    with tarfile.open(file) as tar:
        texts = {name: tar.extractfile(name).read().decode() for name in tar.getnames()}  # type: ignore[union-attr]
    assert {"about.json", "settings.json", "journal.jsonl", "logs/controller.log"} <= set(texts)
    found = [(name, word) for name, text in texts.items() for word in (*SECRETS, token) if word in text]
    assert found == []
    assert "job-1" in texts["journal.jsonl"]
    assert json.loads(texts["about.json"])["status"]["controller"]["state"] == "up"
    elsewhere = Product(tmp_path / "nowhere")
    told = elsewhere.json("debug", "replay", str(file))
    assert told["cycles"] >= 3
    assert told["first_difference"] is None


@pytest.mark.slow
def test_a_bundle_that_was_changed_is_seen_to_differ(product: Product, tmp_path: Path) -> None:
    number = product.run("true", words=("--gpus", "1", "--name", "changed"))
    product("wait", number)
    file = bundle(product, tmp_path)
    with tarfile.open(file) as tar:
        parts = {name: tar.extractfile(name).read() for name in tar.getnames()}  # type: ignore[union-attr]
    lines = parts["journal.jsonl"].decode().splitlines()
    at = max(i for i, line in enumerate(lines) if '"type":"Started"' in line)
    changed = json.loads(lines[at])
    changed["record"]["grants"][0]["devices"] = [1 - changed["record"]["grants"][0]["devices"][0]]
    lines[at] = json.dumps(changed)
    (tmp_path / "journal.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "about.json").write_bytes(parts["about.json"])
    other = tmp_path / "changed.tar.gz"
    with tarfile.open(other, "w:gz") as tar:
        for name in ("about.json", "journal.jsonl"):
            tar.add(tmp_path / name, name)
    told = product.json("debug", "replay", str(other), code=1)
    assert told["first_difference"]["record"] == changed["number"]


@pytest.mark.slow
def test_what_is_no_bundle_is_refused_in_a_line(product: Product, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no archive")
    said = product("debug", "replay", str(tmp_path / "x"))
    assert said.code != 0
    assert "cannot be read as a bundle" in said.err
    assert "is there already" in product("debug", "bundle", str(tmp_path / "x")).err


@pytest.mark.slow
def test_top_tells_one_screen_where_there_is_no_terminal(product: Product) -> None:
    number = product.run("sleep", "60", words=("--gpus", "2", "--name", "long"))
    blocked = product.run("true", words=("--gpus", "2", "--name", "blocked"))
    until(lambda: product.json("show", number)["state"] == "running", "the long job runs")
    told = product.json("top")
    assert [row["name"] for row in told["running"]] == ["long"]
    assert [row["name"] for row in told["waiting"]] == ["blocked"]
    said = product("top", "--once")
    assert said.code == 0
    assert all(word in said.out for word in ("long", "blocked", "BECAUSE"))
    assert max(map(len, said.out.splitlines())) <= 80
    for job in (blocked, number):
        assert product("cancel", job).code == 0


@pytest.mark.slow
def test_top_is_left_by_q(product: Product) -> None:
    """In a terminal of 80 columns: it draws, goes on, and a key ends it."""
    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    pipes = {"stdin": inner, "stdout": inner, "stderr": inner, "text": False, "env": environment}
    process = product.process("top", "--interval", "0.2", **pipes)
    os.close(inner)
    seen = b""
    try:
        end = time.monotonic() + PATIENCE_S
        while b"GPUs held" not in seen:
            assert time.monotonic() < end, seen
            ready, _, _ = select.select([outer], [], [], 1)
            seen += os.read(outer, 65536) if ready else b""
        os.write(outer, b"xq")
        while process.poll() is None:
            assert time.monotonic() < end, seen
            ready, _, _ = select.select([outer], [], [], 0.1)
            seen += _read(outer) if ready else b""
    finally:
        process.kill()
        process.wait()
        os.close(outer)
    assert process.returncode == 0


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""  # the other side has closed it
