"""Tables: as wide as the terminal, whole in a pipe, coloured only where a person looks."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from clearway.cli.table import LEAST_WIDTH, Cell, Column, draw, fitted, state

COLUMNS = (Column("N", right=True), Column("NAME", cut=True), Column("WHY", wraps=True))


@pytest.mark.parametrize(
    ("natural", "room", "widths"),
    [
        ([3, 20, 30], 100, [3, 20, 30]),
        ([3, 20, 30], 57, [3, 20, 30]),
        ([3, 20, 30], 47, [3, 20, 20]),
        ([3, 20, 30], 41, [3, 18, 16]),
        ([3, 20, 30], 10, [3, LEAST_WIDTH, LEAST_WIDTH]),
        ([3, 5, 30], 10, [3, 5, LEAST_WIDTH]),
    ],
)
def test_the_widest_texts_give_way_and_numbers_never_do(natural: list[int], room: int, widths: list[int]) -> None:
    found = fitted(COLUMNS, natural, room)
    assert sum(found) == sum(widths)
    assert (found[0], min(found)) == (widths[0], min(widths))


def test_in_a_pipe_nothing_is_cut_and_no_line_ends_in_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    draw(COLUMNS, [["1", "x" * 1000, "y " * 500], ["10", Cell("[red]a\x1b[0m", "red"), ""]])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "x" * 1000 in lines[1]
    assert "[red]a\\x1b[0m" in lines[2]
    assert all(line == line.rstrip() for line in lines)


def test_a_state_has_its_colour_whatever_follows_it() -> None:
    assert state("running (suspended)") == Cell("running (suspended)", "cyan")
    assert state("unheard-of") == Cell("unheard-of")


def on_a_terminal(**environment: str) -> str:
    code = (
        "from clearway.cli.table import *\ndraw((Column('A', cut=True), Column('B')), [['x' * 100, state('failed')]])"
    )
    reader, terminal = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm", "COLUMNS": "40"} | environment
    subprocess.run([sys.executable, "-c", code], stdout=terminal, env=env, check=True, timeout=60)
    os.close(terminal)
    shown = os.read(reader, 65536).decode()
    os.close(reader)
    return shown


def test_on_a_terminal_states_have_colours_and_long_texts_are_cut() -> None:
    assert "\x1b[31mfailed" in on_a_terminal()
    plain = on_a_terminal(NO_COLOR="1")
    assert "\x1b[3" not in plain
    assert "failed" in plain
    assert "…" in plain
    assert max(map(len, plain.splitlines())) <= 40 + len("\x1b[1m\x1b[0m") * 3
