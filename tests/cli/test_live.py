"""The commands on a real controller: what people type, what they see, and the number it ends with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clearway.cli import faults, shown
from clearway.cli.follow import POLL_S, SILENT_S
from tests.cli.live import PATIENCE_S, Product, kill, until
from tests.cli.test_program import HEAVY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """One controller with two counted devices for the tests of this file that leave it as it is."""
    made = Product(tmp_path_factory.mktemp("live") / "home")
    said = made.starting("up", "--detach", "--devices", "2")
    assert said.code == 0, said
    assert "2 devices are only counted" in said.out
    yield made
    made.stop()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Product]:
    """A home in which nothing runs yet."""
    made = Product(tmp_path / "home")
    yield made
    made.stop()


def test_status_names_the_process_and_says_what_is_only_counted(product: Product) -> None:
    told = product.json("status")
    os.kill(told["controller"]["pid"], 0)
    said = product("status")
    assert str(told["controller"]["pid"]) in said.out
    assert told["self_audit"]["found"] == {"no_process": 0, "no_grant": 0, "books": 0, "board": 0, "store": 0}
    assert "only counted" in said.out


def test_nodes_show_their_devices_and_that_they_are_only_counted(product: Product) -> None:
    (node,) = product.json("nodes")["nodes"]
    assert node["gpus"] == 2
    said = product("nodes")
    assert node["name"] in said.out
    assert "only counted" in said.out


def test_queues_are_listed(product: Product) -> None:
    product("run", "--wait", "--", "true")
    assert "default" in [q["name"] for q in product.json("queues")["queues"]]
    assert "default" in product("queues").out


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
)
def test_run_wait_passes_output_and_exit_code_on(product: Product, script: str, code: int) -> None:
    said = product("run", "--wait", "--", "sh", "-c", f"echo to out; echo to err >&2; {script}")
    assert (said.code, said.out) == (code, "to out\n")
    assert said.err.startswith("to err\n")


def test_run_wait_copies_bytes_as_they_are(product: Product) -> None:
    assert product.output("run", "--wait", "--", "printf", r"\262\000\033[31m") == b"\xb2\x00\x1b[31m"


def test_options_stand_before_the_command_and_its_own_behind(product: Product) -> None:
    said = product("run", "--wait", "--gpus", "1", "--env", "A=1", "sh", "-c", "echo $A $CUDA_VISIBLE_DEVICES --json")
    assert (said.code, said.out) == (0, "1 0 --json\n")


def test_run_wait_with_json_ends_with_one_document(product: Product) -> None:
    said = product("run", "--json", "--wait", "--", "sh", "-c", "echo hello; exit 4")
    row = json.loads(said.out)
    assert (said.code, row["state"], row["exit_code"]) == (4, "failed", 4)
    assert said.err == "hello\n"


def test_several_tasks_are_told_apart(product: Product) -> None:
    said = product("run", "--wait", "--tasks", "2", "--", "echo", "here")
    assert sorted(said.out.splitlines()) == ["[0] here", "[1] here"]


def test_a_job_from_submit_to_end(product: Product) -> None:
    said = product("run", "--name", "greeting", "--", "echo", "hello")
    assert said.code == 0
    assert "(greeting) submitted" in said.out
    assert product("wait", "greeting").code == 0
    assert product("logs", "greeting").out == "hello\n"
    assert "greeting" in product("ps", "-a").out
    assert "succeeded" in product("show", "greeting").out
    assert "was next in order" in product("why", "greeting").out


def test_a_program_that_does_not_exist_fails_and_says_so(product: Product) -> None:
    said = product("run", "--wait", "--", "/no/such/program")
    assert said.code != 0
    assert "/no/such/program" in said.err


def test_files_of_jobs_are_submitted_all_or_none(product: Product, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text("name: first\nrun: echo 1\n---\njobs:\n  - {name: second, run: echo 2, after: [first]}\n")
    assert product("submit", str(file)).out.count("submitted") == 2
    assert product("wait", "first", "second").code == 0
    before = len(product.json("ps", "-a")["jobs"])
    said = product("submit", "-", stdin="[{name: good, run: 'true'}, {name: bad, run: 'true', gpus: 1.5}]")
    assert said.code == faults.BAD_INPUT
    assert said.err.startswith("clearway: gpus: 1.5 is refused: a whole number >= 0, or a fraction below 1")
    assert "bad" in said.err
    assert len(product.json("ps", "-a")["jobs"]) == before


BAD = [
    ("gpus", "-1"), ("gpus", "nan"), ("gpus", "inf"), ("gpus", "abc"), ("gpus", "true"), ("gpus", "1.5"),
    ("gpus", "0.0001"), ("cpus", "-100"), ("memory", "-1Gi"), ("memory", "128m"), ("memory", "0.5"),
    ("memory", "1e400"), ("memory", ""),
    ("tasks", "0"), ("tasks", "-2"), ("priority", "nan"), ("time_estimate", "-5"), ("max_retries", "-1"), ("spot", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "value"), BAD)
def test_bad_values_are_refused_alike_on_the_command_line_and_in_files(product: Product, word: str, value: str) -> None:
    by_option = product("run", "--json", f"--{word.replace('_', '-')}", value, "--", "true")
    in_yaml = {"nan": ".nan", "inf": ".inf"}.get(value, value)
    by_file = product("submit", "--json", "-", stdin=f"{{name: j, run: 'true', {word}: {in_yaml or repr('')}}}")
    for said in (by_option, by_file):
        assert (said.code, said.out) == (faults.BAD_INPUT, "")
        assert json.loads(said.err)["field"] == word
    assert json.loads(by_option.err)["rule"] == json.loads(by_file.err)["rule"]


def test_what_is_not_there_is_named(product: Product) -> None:
    for command in ("show", "why", "logs", "cancel", "wait", "suspend", "resume"):
        said = product(command, "nobody")
        assert said.code == faults.NOT_FOUND, (command, said)
        assert "nobody" in said.err
        assert said.out == ""
    assert product("drain", "nowhere").code == faults.NOT_FOUND


def test_a_job_that_no_node_can_ever_run_is_told_so_at_submit(product: Product) -> None:
    said = product("run", "--name", "huge", "--gpus", "64", "--", "true")
    assert said.code == 0
    assert "warning" in said.err
    assert "64 GPUs" in said.err
    assert "64 GPUs" in product("ps").out
    assert "64 GPUs" in product("why", "huge").out
    assert product("wait", "--timeout", "0.1", "huge").code == faults.TIMED_OUT
    assert product("cancel", "huge").code == 0
    assert product("wait", "huge").code == faults.FAILED


def test_run_wait_says_once_that_a_job_never_fits_and_what_to_do(product: Product) -> None:
    process = product.process("run", "--wait", "--name", "never", "--gpus", "64", "--", "true")
    until(lambda: product("why", "never").code == 0, "it is submitted")
    time.sleep(SILENT_S + 2 * POLL_S)  # by then a reason to wait that was not said yet would be said
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert err.count("no node can ever run it") == 1
    assert err.count("Ctrl-C cancels it; without GPUs: clearway down, then clearway up --detach --devices N") == 1


def test_show_says_what_was_asked_for(product: Product) -> None:
    words = ("--tasks", "2", "--cpus", "0.1", "--memory", "40MB", "--time-limit", "1h30m", "--max-retries", "2")
    job = product.run("true", words=(*words, "--priority", "7"))
    said = product("show", job).out
    assert "2 tasks, each with 0.1 CPUs, 40 MB of memory" in said
    assert "1 h 30 min" in said
    told = product.json("show", job)["words"]
    assert (told["memory"], told["cpus"], told["time_limit"], told["priority"]) == (40_000_000, 0.1, 5400, 7)


def test_a_reservation_is_a_promise_that_is_told(product: Product) -> None:
    blocker = product.run("sleep", "60", words=("--gpus", "2", "--time-estimate", "60s"))
    job = product.run("true", words=("--gpus", "2", "--time-estimate", "1s"))
    until(lambda: product.json("why", job)["expected"], "it has a reservation")
    promise = product.json("why", job)["expected"]
    assert promise["nodes"] == [product.json("nodes")["nodes"][0]["name"]]
    assert product.json("show", job)["expected"] == promise
    assert f"expected to start by {shown.clock(promise['start'])} (reservation on" in product("why", job).out
    assert f"to start by {shown.clock(promise['start'])} (reservation on" in product("show", job).out
    product("cancel", blocker)
    assert product("wait", job).code == 0
    assert product.json("why", job)["expected"] is None


def test_a_signal_is_named(product: Product) -> None:
    job = product.run("sh", "-c", "kill -TERM $$")
    assert "failed, ended by signal 15 (SIGTERM)" in product("wait", job).out
    assert "ended by signal 15 (SIGTERM)" in product("show", job).out


def test_logs_of_several_tasks_say_which_one_is_shown(product: Product) -> None:
    job = product.run("true", words=("--tasks", "2", "--cpus", "0.1"))
    product("wait", job)
    assert "this is task 0 of 2; --task N shows another one" in product("logs", job).err
    for args in (["--task", "1"], ["--json"]):
        assert product("logs", *args, job).err == ""


def test_run_says_where_the_output_is(product: Product) -> None:
    said = product("run", "--", "true")
    assert "see: clearway logs -f" in said.err


def test_suspend_and_resume(product: Product) -> None:
    job = product.run("sleep", "60")
    until(lambda: product.json("show", job)["inner_state"] == "running", "it runs")
    assert product("suspend", job).code == 0
    assert product.json("show", job)["inner_state"] == "suspended"
    assert "running (suspended)" in product("ps").out
    assert product("resume", job).code == 0
    assert product.json("show", job)["inner_state"] == "running"
    product("cancel", job)
    assert product("wait", job).code == faults.FAILED


def test_a_drained_node_gets_nothing_new(product: Product) -> None:
    (node,) = (n["name"] for n in product.json("nodes")["nodes"])
    before = product.run("sleep", "60", words=("--gpus", "1"))
    assert product("drain", node).code == 0
    assert "drained" in product("nodes").out
    assert product.json("nodes")["nodes"][0]["free_gpus"] == product.json("status")["gpus"]["free"] == 0
    job = product.run("true")
    assert "drained" in product("why", job).out
    assert product("undrain", node).code == 0
    assert product("wait", "--timeout", "20", job).code == 0
    product("cancel", before)


def test_logs_mark_what_is_no_text_and_keep_split_characters_whole(product: Product) -> None:
    job = product.run("sh", "-c", r"printf '\262\303'; sleep 0.3; printf '\244'; echo oops >&2")
    followed = product("logs", "-f", job)
    assert followed.out == "\N{REPLACEMENT CHARACTER}ä"
    assert product.json("logs", job)["text"] == "\N{REPLACEMENT CHARACTER}ä"
    assert product("logs", "--stderr", job).out == "oops\n"
    assert product.output("logs", "--raw", job) == b"\xb2\xc3\xa4"
    assert product("logs", "-f", "--json", job).code == faults.BAD_INPUT
    assert product("logs", "--task", "7", job).code == faults.NOT_FOUND


def test_names_cannot_bring_control_characters_to_the_terminal(product: Product) -> None:
    name = "evil\x1b[31m\nname"
    job = product.run("true", words=("--name", name))
    assert product("wait", f"name:{name}").code == 0
    for command in (["ps", "-a"], ["show", job], ["why", job], ["wait", job]):
        said = product(*command)
        assert "\x1b" not in said.out + said.err
        assert "evil\\x1b[31m\\nname" in said.out, command
    assert product.json("show", job)["name"] == name


def test_the_first_interrupt_cancels_the_job(product: Product) -> None:
    process = product.process("run", "--name", "long", "--wait", "--", "sh", "-c", "echo up; sleep 60")
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == faults.FAILED
    assert "cancelling job" in err
    assert product.json("show", "long")["state"] == "cancelled"


def test_the_second_interrupt_leaves_a_job_that_takes_its_time_to_stop(product: Product) -> None:
    script = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    with product.process("run", "--name", "stubborn", "--wait", "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert "cancelling job" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=5) == faults.INTERRUPTED


def test_a_name_that_is_no_text_names_nothing(product: Product) -> None:
    with product.process("show", b"bad\xffname") as process:  # type: ignore[arg-type]
        _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, len(err.splitlines())) == (faults.NOT_FOUND, 1)


def test_a_reader_that_goes_away_ends_the_job(product: Product) -> None:
    script = "while :; do echo y; sleep 0.05; done"
    with product.process("run", "--name", "endless", "--wait", "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=PATIENCE_S) == faults.READER_GONE
    product("wait", "endless")
    assert product.json("show", "endless")["state"] == "cancelled"


def test_run_wait_says_why_it_waits(product: Product) -> None:
    blocker = product.run("sleep", "60", words=("--gpus", "2"))
    process = product.process("run", "--wait", "--gpus", "1", "--", "echo", "done")
    assert process.stderr is not None
    assert "waits: needs 1 GPU" in process.stderr.readline()
    product("cancel", blocker)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (0, "done\n")


def test_completion_offers_names_of_jobs(product: Product) -> None:
    product.run("true", words=("--name", "complete-me"))
    env = {"_CLEARWAY_COMPLETE": "bash_complete", "COMP_WORDS": "clearway show comp", "COMP_CWORD": "2"}
    process = product.process(env={**os.environ, **env, "CLEARWAY_HOME": str(product.home)})
    assert process.communicate(timeout=PATIENCE_S)[0] == "plain,complete-me\n"


def test_run_starts_a_controller_where_none_runs_and_words_that_are_refused_start_none(own: Product) -> None:
    assert own("run", "--gpus", "1.5", "--", "true").code == faults.BAD_INPUT
    assert own("status").code == faults.NO_CONTROLLER
    said = own.starting("run", "--wait", "--", "echo", "hello")
    assert (said.code, said.out) == (0, "hello\n")
    assert "started a controller" in said.err
    assert own("status").code == 0


def test_without_a_controller_every_command_says_how_to_start_one(own: Product) -> None:
    for args in (["ps"], ["show", "1"], ["nodes"], ["submit", "-"]):
        said = own(*args, stdin="{name: a, run: 'true'}")
        assert said.code == faults.NO_CONTROLLER
        assert "clearway up" in said.err


def test_queues_are_made_from_files(own: Product, tmp_path: Path) -> None:
    file = tmp_path / "queues.yaml"
    file.write_text("queues:\n  - {name: org}\n  - {name: research, parent: org, limit: {gpus: 1}, weight: 2}\n")
    own.starting("up", "--detach", "--devices", "2")
    assert own("run", "--queue", "research", "--", "true").code == faults.BAD_INPUT
    assert "1 GPU" in own("queues", "--set", str(file)).out
    rows = {q["name"]: q for q in own.json("queues")["queues"]}
    assert (rows["research"]["parent"], rows["research"]["limit"]) == ("org", {"gpus": 1})
    job = own.run("true", words=("--queue", "research", "--gpus", "2"))
    assert "queue research" in own("why", job).out
    assert own("queues", "--set", "-", stdin="{name: bad, weight: -1}").code == faults.BAD_INPUT


def test_run_wait_imports_nothing_heavy(own: Product) -> None:
    own.starting("up", "--detach")
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
        f"from clearway.cli.main import cli\n"
        f"cli.main(['--home', {str(own.home)!r}, 'run', '--wait', '--', 'echo', 'hi'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "hi\n"
    assert not set(done.stderr.split()) & set(HEAVY)


@pytest.mark.parametrize(
    ("option", "value", "field"),
    [("--devices", "x", "devices"), ("--devices", "-1", "devices"), ("--listen", "0.0.0.0:80", "listen")],
)
def test_settings_that_are_refused_start_nothing(own: Product, option: str, value: str, field: str) -> None:
    said = own("up", "--detach", "--json", option, value)
    assert said.code == faults.BAD_INPUT
    assert json.loads(said.err)["field"] == field
    assert own("status").code == faults.NO_CONTROLLER


def test_a_policy_that_names_no_rule_is_refused_before_a_controller_starts(own: Product) -> None:
    own.home.mkdir(mode=0o700, exist_ok=True)
    (own.home / "clearway.yaml").write_text("policy: {order: [nope]}\n")
    said = own("up", "--detach", "--json")
    assert said.code == faults.BAD_INPUT
    assert json.loads(said.err)["field"] == "order"
    assert own("status").code == faults.NO_CONTROLLER


def test_empty_lists_say_what_to_do(own: Product) -> None:
    own.starting("up", "--detach")
    assert own("ps").out == "no jobs; try: clearway run --wait -- echo hello\n"
    assert own.json("ps") == {"jobs": []}
    own("run", "--wait", "--", "true")
    assert "clearway ps -a" in own("ps").out
    assert own("ps", "--queue", "default").out == "no such job\n"
    for args in (["ps", "--queue", "defalt"], ["ps", "--json", "--queue", "none"]):
        said = own(*args)
        assert (said.code, said.out) == (faults.NOT_FOUND, "")
        assert "the nearest: default" in said.err


def test_a_second_controller_is_a_conflict(own: Product) -> None:
    own.starting("up", "--detach")
    said = own.starting("up", "--detach")
    assert said.code == faults.CONFLICT
    assert str(own.json("status")["controller"]["pid"]) in said.err
    assert "clearway down stops it; then up with the new options" in said.err


def test_after_a_crash_running_jobs_are_found_again_and_finished_ones_are_not_run_again(
    own: Product, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    own.starting("up", "--detach", "--devices", "1")
    own("run", "--wait", "--name", "over", "--", "sh", "-c", f"echo over >> {marks}")
    until_told = f"while [ ! -e {marks}.go ]; do sleep 0.05; done"
    own.run("sh", "-c", f"{until_told}; echo running >> {marks}", words=("--name", "running", "--gpus", "1"))
    own.run("sh", "-c", f"echo queued >> {marks}", words=("--name", "queued", "--gpus", "1"))
    until(lambda: own.json("show", "running")["inner_state"] == "running", "it runs")
    kill(own.json("status")["controller"]["pid"])
    until(lambda: own("status").code != 0, "the killed controller is gone")
    own.starting("up", "--detach", "--devices", "1")
    assert own.json("show", "running")["inner_state"] == "running"
    (tmp_path / "marks.go").touch()
    assert own("wait", "--timeout", "30", "running", "queued").code == 0
    assert marks.read_text().split() == ["over", "running", "queued"]
    assert own.json("show", "running")["attempt"] == 1


def test_run_wait_that_loses_its_controller_says_that_the_job_goes_on(own: Product) -> None:
    own.starting("up", "--detach")
    with own.process("run", "--wait", "--name", "kept", "--", "sh", "-c", "echo up; sleep 2") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        kill(own.json("status")["controller"]["pid"])
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == faults.NO_CONTROLLER
    assert "the job goes on" in err
    assert len(err.splitlines()) == 2
    own.starting("up", "--detach")
    assert own("wait", "--timeout", "20", "kept").code == 0


def test_up_in_the_foreground_ends_with_ctrl_c_and_jobs_go_on(own: Product) -> None:
    process = own.process("up", "--devices", "1")
    until(lambda: own("status").code == 0, "it answers")
    own.run("sleep", "2", words=("--name", "goes-on"))
    until(lambda: own.json("show", "goes-on")["inner_state"] not in {"pending", "starting"}, "it runs")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    assert own("ps").code == faults.NO_CONTROLLER
    own.starting("up", "--detach", "--devices", "1")
    assert own("wait", "--timeout", "20", "goes-on").code == 0


def test_down_where_nothing_runs_is_no_error(own: Product) -> None:
    said = own("down")
    assert said.code == 0
    assert "no controller runs" in said.out
    assert own.json("down")["stopped"] is False
