"""What a program is told that waits badly, asks wrongly or does not ask at all: by a real controller."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clearway import chain, chord, group, task
from clearway.model.errors import CallError, InputError, UnknownWordError
from tests.api.live import until
from tests.sdk import tasks_used as used

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clearway.sdk.client import Client

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("client")]
SETTINGS = {"fleet": {"nodes": [{"name": "n", "cpus": 4}]}}
PATIENCE_S = 60


def test_waiting_that_was_given_up_leaves_the_others_waiting(tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.ensure_future(slow), 0.05)

    slow: Any = used.waits_for.remote(str(gate))
    for _ in range(3):
        asyncio.run(impatient())
    gate.touch()
    assert slow.get(PATIENCE_S) == "seen"
    assert used.add.remote(1).get(PATIENCE_S) == 2


def run(root: Path, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False)


def test_a_call_that_is_refused_is_told_of_also_where_nobody_asks(root: Path) -> None:
    program = "from tests.sdk.tasks_used import add\nkept = add.options(queue='nowhere').remote(1)\n"
    told = run(root, program)
    assert "clearway: a call of tests.sdk.tasks_used.add was not made" in told.stderr
    assert "queue: 'nowhere' is refused: a queue that exists: default" in told.stderr
    dropped = run(root, program.replace("kept = ", "") + "import time; time.sleep(0)\n")
    assert dropped.stderr.count("nowhere") == 1
    asked = run(root, program + "try: kept.get()\nexcept Exception as error: print(type(error).__name__)\n")
    assert (asked.stdout, asked.stderr) == ("InputError\n", "")


def test_an_option_that_no_task_has_is_refused_where_the_call_is_made() -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"gpu": 1}, "gpus"),
        ({"gpus": "half"}, "gpus"),
        ({"env": {"A": 1j}}, "env"),
    ]
    for words, told in wrong:
        with pytest.raises(InputError, match=told):
            _ = used.add.options(**words).remote(1)
    with pytest.raises(UnknownWordError, match="gpus"):
        used.Counter.options(gpu=1).remote()


def test_a_queue_that_is_not_there_is_refused_by_its_name() -> None:
    with pytest.raises(InputError, match="nowhere") as caught:
        used.add.options(queue="nowhere").remote(1).get(PATIENCE_S)
    assert caught.value.field == "queue"


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "StopIteration"])
def test_what_would_end_the_program_that_asks_comes_as_a_failed_call(kind: str) -> None:
    handle = used.ends_with.remote(kind)
    with pytest.raises(CallError, match=f"raised {kind}: 3") as caught:
        handle.get(PATIENCE_S)
    assert "tasks_used.py" in str(caught.value.__cause__)


def test_a_task_is_a_part_and_anything_else_is_refused_by_name() -> None:
    assert (used.add.s(1) | used.add).remote().get(PATIENCE_S) == 3
    assert (used.add.s(1) | group(used.add, used.double)).remote().get(PATIENCE_S) == [3, 4]
    assert chord([used.add.s(1)], used.total).remote().get(PATIENCE_S) == 2
    handle: Any = used.add.remote(1)
    one: Any = 3
    made: list[Callable[[], object]] = [
        lambda: used.add.s(1) | handle, lambda: group(used.add.s(1), handle), lambda: chain(one), lambda: group([one]),
        lambda: group(one),
    ]  # fmt: skip
    for make in made:
        with pytest.raises(TypeError, match=r"f\.s\("):
            make()
    with pytest.raises(InputError, match="at least one part"):
        _ = chain().remote()


def test_a_handle_is_no_argument_and_the_refusal_tells_what_is() -> None:
    handle = used.add.remote(1)
    with pytest.raises(TypeError, match=r"give its result, handle\.get\(\), or make a chain"):
        used.add.map([handle])


def test_what_fails_in_a_chain_is_noted_by_its_place_and_told_by_why() -> None:
    handle = (used.add.s(1) | used.raises.s() | used.add.s(1)).remote()
    with pytest.raises(KeyError) as caught:
        handle.get(PATIENCE_S)
    assert caught.value.__notes__ == [f"chain {handle.id}: its part 2 of 3 failed; what is behind it does not run"]
    assert "tests.sdk.tasks_used.raises) has: KeyError: 2" in handle.why()["text"]
    whole = chord([used.fails_for.s(n, [1]) for n in range(3)], used.total.s()).remote()
    with pytest.raises(ValueError, match="1 is bad") as caught_too:
        whole.get(PATIENCE_S)
    assert caught_too.value.__notes__ == [f"chain {whole.id}: its part 1 of 2 failed; what is behind it does not run"]
    assert "tests.sdk.tasks_used.fails_for) has: ValueError: 1 is bad" in whole.why()["text"]
    alone = group(used.fails_for.s(n, [1]) for n in range(3)).remote()
    until(alone.done, "it is over")
    assert alone.why()["text"].endswith("ValueError: 1 is bad; 1 of its 3 parts failed")


def test_why_of_a_whole_tells_what_its_next_part_waits_for() -> None:
    never = used.add.options(gpus=64)
    for sketch in (group(never.s(1), used.add.s(1)), used.add.s(1) | never.s(), group(never.s(n) for n in range(3))):
        handle = sketch.remote()
        until(lambda: handle.why()["waits_for_job"], "its worker waits for a place")  # noqa: B023  within its turn
        assert "GPU" in handle.why()["text"]
        assert handle.eta() is None
        handle.cancel()


def test_nothing_is_expected_of_calls_of_which_none_has_ended(tmp_path: Path) -> None:
    for n in range(20):
        used.add.remote(n).get(PATIENCE_S)

    @task
    def never_before(path: str) -> str:
        return used.waits_for(path)

    handle = never_before.remote(str(tmp_path / "gate"))
    until(lambda: handle.status == "running", "it runs")
    assert handle.eta() is None
    (tmp_path / "gate").touch()
    handle.get(PATIENCE_S)


def test_no_moment_is_told_that_is_past(client: Client) -> None:
    client.set_queue({"name": "slowly", "call_rate": "1000/s"})
    handle = used.add.options(queue="slowly", gpus=64).remote(1)
    until(lambda: handle.why()["waits_for_job"], "its worker waits for a place")
    assert "at most, and the next may go now" in handle.why()["text"]
    handle.cancel()


def test_actors_tell_where_and_which_method() -> None:
    counter = used.Counter.remote()
    with pytest.raises(TypeError, match=r"add\.remote"):
        counter.add()
    call = counter.add.remote(1)
    call.get(PATIENCE_S)
    assert call.row["name"] == "tests.sdk.tasks_used._Counter.add"

    class Here:
        def fail(self) -> None:
            raise OSError("here")

    here = task(Here).remote()
    with pytest.raises(OSError, match="here") as caught:
        here.fail.remote().get(PATIENCE_S)
    assert __file__ in str(caught.value.__cause__)
    counter.end()
    here.end()
