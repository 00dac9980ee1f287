"""The behaviours of an engine that need processes to look at: what a task finds, writes, gives back and leaves."""
# ruff: noqa: D102, PLR2004, S101  # a test's name says what holds, its numbers stand in the expectation, pytest reads asserts

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from clearway.model.actions import Launch
from clearway.model.events import Grant, TaskRef
from clearway.model.ids import JobId, NodeId
from clearway.ports.engine import TaskIsGone, TaskReported
from clearway.testing.engine_place import PATIENCE_S, EnginePlace, Talk

if TYPE_CHECKING:
    from pathlib import Path

TAKEN_BYTES = 100 << 20
LONG_BYTES = 3 << 20
"""Longer than what an engine may fetch of a file at once."""


class ProcessSuite(EnginePlace):
    """Behaviours that are seen in the processes of tasks."""

    def test_a_signal_that_ends_a_task_is_a_negative_code(self, talk: Talk) -> None:
        self._only_real()
        order = self.launch(self.shell("kill -SEGV $$"))
        talk.tell(order)
        assert talk.gone(order.task).exit_code == -11

    def test_a_task_finds_its_devices_and_its_place(self, talk: Talk) -> None:
        self._only_real()
        names = (
            "CLEARWAY_JOB CLEARWAY_ATTEMPT CLEARWAY_INDEX RANK WORLD_SIZE MASTER_ADDR MASTER_PORT CUDA_VISIBLE_DEVICES"
        )
        line = " ".join(f"${{{name}-unset}}," for name in names.split())
        task = TaskRef(JobId(7), 2, 0, 1)
        self.used.add(task)
        grant = Grant(0, 1, NodeId(0), (1, 3))
        talk.tell(Launch(task, self.shell(f"echo {line}", CUDA_VISIBLE_DEVICES="0,1,2"), grant, self.node, 1, 2))
        talk.gone(task)
        found = self.log(task, "stdout").decode().split(", ")
        assert found[:5] == ["7", "2", "1", "1", "2"]
        assert "unset" not in found[5:7]
        assert found[7] == "1,3,\n"

    def test_tasks_beside_each_other_have_devices_logs_and_codes_of_their_own(self, talk: Talk) -> None:
        """Two of one attempt, and one of another attempt of the same job."""
        self._only_real()
        go = self.scratch / "go"
        line = (
            'echo "$CUDA_VISIBLE_DEVICES $RANK $MASTER_ADDR:$MASTER_PORT"; while [ ! -e %s ]; do sleep 0.05; done; %s'
        )
        shown = {(1, 0): (1,), (1, 1): (0, 2), (2, 0): (3,)}
        orders = {
            (attempt, index): self.launch(
                self.shell(line % (shlex.quote(str(go)), f"exit {10 * attempt + index}")), attempt=attempt,
                devices=devices, index=index, of=2,
            )
            for (attempt, index), devices in shown.items()
        }  # fmt: skip
        talk.tell(*orders.values())
        for order in orders.values():
            talk.up(order.task)
        go.touch()
        places = set()
        for (attempt, index), order in orders.items():
            assert talk.gone(order.task).exit_code == 10 * attempt + index
            devices, rank, place = self.printed(order.task).decode().split(" ")
            assert (devices, rank) == (",".join(map(str, shown[attempt, index])), str(index))
            places.add((attempt, place))
        assert len(places) == 2, "both of one attempt meet at one place"

    def test_a_task_without_devices_sees_none(self, talk: Talk) -> None:
        self._only_real()
        order = self.launch(self.shell('echo "[${CUDA_VISIBLE_DEVICES-unset}]"'))
        talk.tell(order)
        talk.gone(order.task)
        assert self.log(order.task, "stdout") == b"[]\n"

    def test_every_byte_of_output_is_kept(self, talk: Talk) -> None:
        self._only_real()
        code = "import sys; sys.stdout.buffer.write(bytes(range(256))); sys.stderr.buffer.write(b'\\xb2\\0\\n')"
        order = self.launch(self.python(code))
        talk.tell(order)
        assert talk.gone(order.task).exit_code == 0
        assert self.log(order.task, "stdout") == bytes(range(256))
        assert self.log(order.task, "stderr") == b"\xb2\0\n"

    def test_output_that_is_long_is_there_whole_when_the_end_is_told(self, talk: Talk) -> None:
        self._only_real()
        line = "a line of output\n"
        order = self.launch(self.python(f"print({line!r} * {LONG_BYTES // len(line)}, end='')"))
        talk.tell(order)
        assert talk.gone(order.task).exit_code == 0
        assert self.log(order.task, "stdout") == line.encode() * (LONG_BYTES // len(line))

    def test_output_and_code_are_whole_across_a_restart_of_the_controller(self, talk: Talk) -> None:
        self._only_real()
        gone, back, alone = (self.scratch / name for name in ("gone", "back", "alone"))
        wait = "while [ ! -e %s ]; do sleep 0.05; done; "
        line = f"echo ready; {wait % gone}echo alone; touch {alone}; {wait % back}echo end; exit 3"
        order = self.launch(self.shell(line))
        self.ready(talk, order)

        def meanwhile() -> None:
            gone.touch()
            wait_for(alone)

        new = self.again(meanwhile)
        assert new.inventory.nodes[0].running == (order.task,)
        back.touch()
        assert new.gone(order.task).exit_code == 3
        assert self.printed(order.task) == b"ready\nalone\nend\n"

    def test_what_a_task_gives_back_comes_with_its_end(self, talk: Talk) -> None:
        self._only_real()
        order = self.launch(replace(self.shell("cat $CLEARWAY_INPUT > $CLEARWAY_RESULT"), input='{"x": 7}'))
        talk.tell(order)
        assert talk.gone(order.task).result == '{"x":7}'

    def test_what_a_task_reports_is_heard_before_its_end(self, talk: Talk) -> None:
        self._only_real()
        told = self.shell("""echo '{"step": 3, "loss": 0.5}' >> $CLEARWAY_METRICS""")
        order = self.launch(replace(told, input="{}", reports=True))
        talk.tell(order)
        talk.gone(order.task)
        heard = [one for one in talk.heard if isinstance(one, TaskReported | TaskIsGone)]
        assert heard[0] == TaskReported(order.task, 3, '{"loss":0.5}')

    def test_a_task_that_took_memory_is_said_to_have_used_it(self, talk: Talk) -> None:
        self._only_real()
        order = self.launch(self.python(f"import time; held = bytearray({TAKEN_BYTES}); time.sleep(0.1)"))
        talk.tell(order)
        used = talk.gone(order.task).used
        assert used is not None
        assert used.cpus is not None
        assert TAKEN_BYTES <= (used.peak_memory or 0) < 4 * TAKEN_BYTES

    def test_a_task_reads_nothing_from_its_input(self, talk: Talk) -> None:
        self._only_real()
        order = self.launch(self.shell("cat; echo end"))
        talk.tell(order)
        assert talk.gone(order.task).exit_code == 0
        assert self.log(order.task, "stdout") == b"end\n"

    @pytest.mark.parametrize("ignores", ["", "trap '' TERM; "], ids=["heeds", "ignores"])
    def test_children_that_got_away_are_gone_before_the_end_is_told(self, talk: Talk, ignores: str) -> None:
        """The child leaves its session and its parents; the main process ends under a halt."""
        self._only_real()
        order = self.launch(self.shell(f"{_runaway(self.scratch, ignores)} exec sleep 600"))
        talk.tell(order)
        pid = _pid_in(self.scratch / "child", talk)
        talk.tell(self.halt(order.task, grace_s=1))
        talk.gone(order.task)
        assert not _lives(pid)

    def test_children_are_gone_before_the_end_of_a_crash_is_told(self, talk: Talk) -> None:
        """The main process dies by itself; what it left ignores SIGTERM and holds the place until it is killed."""
        self._only_real()
        order = self.launch(self.shell(f"{_runaway(self.scratch, '')} kill -SEGV $$"))
        talk.tell(order)
        pid = _pid_in(self.scratch / "child", talk)
        assert talk.gone(order.task).exit_code == -11
        assert not _lives(pid)


def _runaway(scratch: Path, ignores: str) -> str:
    """Return a shell line that starts a process in a session of its own whose parents are gone, and waits for it."""
    child = shlex.quote(str(scratch / "child"))
    inner = shlex.quote(f"{ignores}echo $$ > {child}.new; mv {child}.new {child}; while :; do sleep 0.1; done")
    return f"(setsid sh -c {inner} &) ; while [ ! -e {child} ]; do sleep 0.02; done;"


def wait_for(path: Path) -> None:
    """Wait until a task has made a file."""
    until = time.monotonic() + PATIENCE_S
    while not path.exists():
        if time.monotonic() > until:
            pytest.fail(f"{path} was not made")
        time.sleep(0.02)


def _pid_in(path: Path, talk: Talk) -> int:
    until = time.monotonic() + PATIENCE_S
    while not path.exists():
        if time.monotonic() > until:
            pytest.fail(f"{path} was not written")
        talk.listen(0.02)
    return int(path.read_text())


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
