"""The screen of `clearway top`, drawn for sizes of terminals."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from clearway.cli.top_page import page


def device(held: float = 0, *, healthy: bool = True) -> dict[str, Any]:
    return {"held": held, "gpu_memory": 0, "healthy": healthy}


def job(name: str, state: str = "pending") -> dict[str, Any]:
    return {
        "name": name, "queue": "research", "gpus": 2, "state": state, "started": "2026-11-30T00:00:00Z",
        "submitted": "2026-11-30T00:00:00Z", "devices": {"n1": [0, 1]},
        "reason": {"code": "no-capacity", "text": "needs 2 GPUs on one node, and no node has more than 1 free"},
    }  # fmt: skip


def told(jobs: int = 2, nodes: int = 2) -> dict[str, Any]:
    tiles = [device(1), device(0.5), device(), device(healthy=False)]
    row = {"state": "ready", "free_gpus": 1, "gpus": 4, "devices": tiles}
    amounts: dict[str, Any] = {"use": {"gpus": 2}, "guarantee": {}, "limit": {"gpus": 8}}
    return {
        "controller": {"version": "0.1.0", "state": "up", "text": ""},
        "counts": {"pending": jobs, "running": jobs},
        "gpus": {"held": 2.5, "total": 8},
        "nodes": [{"name": f"n{i}", **row} for i in range(nodes)],
        "queues": [{"name": "research", "running": jobs, "pending": jobs, **amounts}],
        "running": [job(f"runs-{i}", "running") for i in range(jobs)],
        "waiting": [job(f"waits-{i}") for i in range(jobs)],
        "pools": [],
    }


def drawn(found: dict[str, Any], width: int, height: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, height=height).print(page(found, width, height))
    return out.getvalue().rstrip("\n").split("\n")


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("many", [0, 2, 500])
def test_it_fits_the_terminal(width: int, many: int) -> None:
    lines = drawn(told(many, min(many, 60)), width, 24)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 24


def test_all_is_there_at_80_columns() -> None:
    text = "\n".join(drawn(told(), 80, 24))
    for word in (
        "2.5 of 8 GPUs held",
        "2 pending, 2 running",
        "█▄·x",
        "1 of 4",
        "runs-1",
        "waits-1",
        "needs 2 GPUs",
        "n1 0-1",
    ):
        assert word in text
    assert "…" in text, "a long reason is cut, and says so"


def test_calls_are_shown_by_pool_where_there_are_some() -> None:
    assert "CALLS OF" not in "\n".join(drawn(told(), 80, 24))
    found = told()
    pool = {"pool": 1, "functions": ["score", "best"], "pending": 700, "running": 12, "workers": 3}
    found["pools"] = [pool, {**pool, "pool": 2, "functions": []}]
    lines = drawn(found, 80, 40)
    [row] = [line for line in lines if line.startswith("score, best")]
    assert row.split()[-3:] == ["3", "12", "700"]
    assert any(line.startswith("pool 2") for line in lines)
    found = told(500, 60) | {"pools": found["pools"] * 40}
    assert len(drawn(found, 80, 24)) <= 24


def test_what_does_not_fit_is_counted() -> None:
    lines = drawn(told(500, 60), 80, 24)
    assert sum("more" in line and line.startswith("and ") for line in lines) == 3


def test_a_name_from_a_user_moves_nothing_and_colours_nothing() -> None:
    found = told()
    found["running"][0]["name"] = "\x1b[2J[red]x[/red]\n\r"
    text = "\n".join(drawn(found, 160, 40))
    assert "\x1b" not in text
    assert "\\x1b[2J[red]x[/red]\\n\\r" in text


def test_a_controller_that_is_stuck_says_why() -> None:
    found = told()
    found["controller"] |= {"state": "stuck", "text": "the disk is full"}
    assert "the disk is full" in "\n".join(drawn(found, 80, 24))
