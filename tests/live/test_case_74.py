"""Bytes that are no UTF-8 stop no reader and fail no job, whatever it wrote them to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

from clearway.config.home import read_running
from clearway.sdk.client import Client
from tests.api.live import live
from tests.api.serving import raw_answer
from tests.cli.live import Product

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

LINE = b"a line of ASCII, forty bytes of it all.\n"
MANY = 300_000 // len(LINE)
EURO = "\N{EURO SIGN}"
CODE = {
    "J": f"w(b'\\xb2\\n'); [w({LINE!r}) for _ in range({MANY})]; w(b'last line\\n\\xc0')",
    "K": "w(b'\\xe2\\x82'); f.flush(); time.sleep(0.5); w(b'\\xac\\n')",
    "N": "w(bytes(10) + b'\\x1b[31mred\\x1b[0m\\n'); f.flush(); sys.exit(3)",
    "U": "w('wide\\n'.encode('utf-16')); w('\\u00e9\\n'.encode('latin-1'))",
    "V": "w(b'\\xff\\xfe\\xed\\xa0\\x80\\xf8\\x88\\x80\\x80\\x80')",
    "R": "w(b'half\\rwhole\\r\\nno end')",
    "S": "w(bytes(range(256)) * 300)",
}
"""Other encodings, halves of characters, what no character is, lines that are none, and every byte there is."""


class Wrote(NamedTuple):
    """A job that is over, and where it wrote to."""

    name: str
    stream: str
    expected: bytes
    product: Product
    client: Client


def _expected(name: str) -> bytes:
    found = bytearray()
    space = {"w": found.extend, "f": _Nothing(), "time": _Nothing(), "sys": _Nothing()}
    exec(CODE[name], space)  # noqa: S102  the very code of the job, on a stream of ours
    return bytes(found)


class _Nothing:
    def __getattr__(self, _: str) -> object:
        return lambda *_: None


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    home = tmp_path_factory.mktemp("74") / "home"
    begin = "import sys, time; f = sys.{}.buffer; w = f.write\n"
    with live(home, fleet={"nodes": [{"name": "n", "cpus": 2}]}) as client:
        client.submit(
            [
                {"name": f"{name}-{stream}", "run": ["python3", "-c", begin.format(stream) + code], "workdir": "/"}
                for name, code in CODE.items()
                for stream in ("stdout", "stderr")
            ]
        )
        yield Product(home)


@pytest.fixture(params=["stdout", "stderr"])
def stream(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(CODE))
def wrote(product: Product, request: pytest.FixtureRequest, stream: str) -> Wrote:
    client, name = Client.connect(product.home), f"{request.param}-{stream}"
    row = client.wait(name)
    expected = ("failed", 3) if request.param == "N" else ("succeeded", 0)
    assert (row["state"], row["exit_code"]) == expected
    return Wrote(name, stream, _expected(request.param), product, client)


def test_python_and_the_raw_command_give_the_very_bytes(wrote: Wrote) -> None:
    for follow in (False, True):
        assert b"".join(wrote.client.logs(wrote.name, stream=wrote.stream, follow=follow)) == wrote.expected
    options = ["--stderr"] if wrote.stream == "stderr" else []
    assert wrote.product.output("logs", "--raw", *options, wrote.name) == wrote.expected


def test_the_command_and_its_document_mark_what_is_no_text(wrote: Wrote) -> None:
    text = wrote.expected.decode(errors="replace")
    options = ["--stderr"] if wrote.stream == "stderr" else []
    assert wrote.product.output("logs", *options, wrote.name).decode() == text
    assert wrote.product.output("logs", "-f", *options, wrote.name).decode() == text
    assert json.loads(wrote.product.output("logs", "--json", *options, wrote.name))["text"] == text


def test_http_gives_bytes_parts_and_a_document(wrote: Wrote) -> None:
    path = f"/api/v1/jobs/{wrote.name}/logs?stream={wrote.stream}"
    assert _get(wrote, path)[1] == wrote.expected
    status, part = _get(wrote, path, "Range: bytes=1-5\r\n")
    assert (status, part) == (206, wrote.expected[1:6])
    text, offset = "", 0
    while offset < len(wrote.expected):
        found = json.loads(_get(wrote, f"{path}&format=json&offset={offset}")[1])
        text, offset = text + found["text"], found["next"]
    assert text == wrote.expected.decode(errors="backslashreplace")


def test_what_was_said_of_the_case_itself(product: Product, stream: str) -> None:
    client = Client.connect(product.home)
    for name in ("J", "K"):
        assert client.wait(f"{name}-{stream}")["state"] == "succeeded"
    stored = b"".join(client.logs(f"J-{stream}", stream=stream))
    assert len(stored) >= MANY * len(LINE)
    assert b"\nlast line\n" in stored
    assert b"".join(client.logs(f"K-{stream}", stream=stream)).decode() == f"{EURO}\n"


def _get(wrote: Wrote, path: str, header: str = "") -> tuple[int, bytes]:
    running = read_running(wrote.product.home)
    assert running is not None
    answer = raw_answer(running.socket, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n".encode())
    return answer.status, answer.body  # type: ignore[attr-defined]
