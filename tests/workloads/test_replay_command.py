"""`clearway replay` and `clearway history export` as a person calls them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from clearway.cli.main import cli
from clearway.cli.replay_policies import one, policies
from clearway.model.errors import InputError
from clearway.sim.workloads import FORMATS

CLEARWAY = str(Path(sys.executable).parent / "clearway")
EXAMPLE = "examples/replay/muri/trace_400.csv"


def call(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, words)
    return result.exit_code, result.stdout, result.stderr


def test_lists_every_format() -> None:
    code, out, _ = call("replay", "--list-formats")
    assert code == 0
    assert all(form.name in out for form in FORMATS)


def test_compares_policies_as_table_json_csv_and_page(root: Path, tmp_path: Path) -> None:
    workload, report = str(root / EXAMPLE), tmp_path / "r.html"
    code, out, err = call("replay", workload, "--policy", "fifo+none,fifo+oracle", "-j", "1", "--report", str(report))
    assert (code, "fifo+oracle" in out, "difference from fifo+none" in out) == (0, True, True)
    assert str(report) in err
    assert report.read_text().startswith("<!doctype html>")
    code, out, _ = call("replay", workload, "--policy", "fifo+none,fifo+oracle", "-j", "1", "--json")
    found = json.loads(out)
    assert found["differences"]["fifo+oracle"]["wait"]["high"] < 0
    code, out, _ = call("replay", workload, "--policy", "fifo", "-j", "1", "--csv")
    assert out.splitlines()[1].startswith("fifo,0,False,*,400,")


def test_a_weighted_order_is_followed_by_each_of_its_orders_alone(root: Path) -> None:
    code, out, _ = call(
        "replay", str(root / EXAMPLE), "-p", "{order: {fair: 1, sjf: 2}, estimate: oracle}", "-j", "1", "--json"
    )
    found = json.loads(out)["policies"]
    assert code == 0
    assert list(found)[1:] == ["fair alone", "sjf alone"]
    waits = {name: one["wait"]["mean"] for name, one in found.items()}
    assert waits["sjf alone"] <= waits["fair alone"], "what fairness costs in waiting is seen"


@pytest.mark.parametrize("example", ["muri/trace_400.csv", "openb/openb_pod_list_excerpt.csv", "gaia/pai_1k.csv"])
def test_the_examples_run(example: str, root: Path) -> None:
    code, out, _ = call("replay", str(root / "examples" / "replay" / example), "-p", "fifo", "--json")
    found = json.loads(out)
    assert (code, found["damaged_lines"], found["partial"]) == (0, 0, False)
    assert found["policies"]["fifo"]["finished"] == found["policies"]["fifo"]["jobs"]


def test_more_load_on_the_same_machines_gives_more_waiting(root: Path) -> None:
    workload = str(root / "examples/replay/gaia/pai_1k.csv")
    found = [
        json.loads(call("replay", workload, "-p", "fifo+none", "--load", x, "--json")[1]) for x in ("1", "1.2", "3")
    ]
    assert len({f["fleet"] for f in found}) == 1
    waits = [f["policies"]["fifo+none"]["wait"]["mean"] for f in found]
    assert waits == sorted(set(waits))
    assert "the same for every --load" in found[0]["notes"][-1]


def test_into_a_pipe_figures_are_stacked_without_trailing_blanks(root: Path) -> None:
    _, out, _ = call("replay", str(root / EXAMPLE), "-p", "fifo+none,fifo", "-j", "1")
    lines = out.splitlines()
    assert lines[1].split() == ["fifo+none", "fifo"]
    assert lines[2].split() == ["finished", "400", "400"]
    assert all(line == line.rstrip() and len(line) <= 100 for line in lines)


def test_a_file_that_is_not_there_is_named_in_plain_words() -> None:
    done = subprocess.run([CLEARWAY, "replay", "nope.csv"], capture_output=True, text=True, check=False)
    rule = "a file that can be read (No such file or directory)"
    assert (done.returncode, done.stderr) == (2, f"clearway: workload: 'nope.csv' is refused: {rule}\n")


def test_mistakes_are_named(root: Path, tmp_path: Path) -> None:
    workload = str(root / EXAMPLE)
    for words, says in (
        (("replay",), "WORKLOAD"),
        (("replay", str(tmp_path / "no.csv")), "no.csv"),
        (("replay", workload, "--policy", "nonsense"), "nonsense"),
        (("replay", workload, "--load", "0"), "load"),
        (("replay", workload, "--fleet", workload), "fleet"),
        (("replay", workload, "--csv", "--json"), "csv"),
        (("history", "export", str(tmp_path / "x"), "--home", str(tmp_path)), "no journal"),
    ):
        done = subprocess.run([CLEARWAY, *words], capture_output=True, text=True, check=False)
        assert done.returncode in {2, 4}, words
        assert says in done.stderr, words
        assert "Traceback" not in done.stderr


def test_policies_by_bundle_order_map_and_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("policy: {order: [fifo], backfill: none}\n")
    found = dict(policies(("fair,fifo+none", "{order: [priority, fifo], backfill: none}", str(file), "fifo+none")))
    assert list(found) == ["fair", "fifo+none", "{order: [priority, fifo], backfill: none}", "mine", "fifo+none'"]
    assert found["mine"] == found["fifo+none"]
    assert one("priority+fifo+easy+oracle")[1].estimate == "oracle"
    for wrong in ("", "+", "fifo+", "easy", "fifo+easy+none", "fifo+nonsense", str(tmp_path / "none.yaml")):
        with pytest.raises(InputError):
            one(wrong)


def workers_of(pid: int) -> list[str]:
    """Return the command lines of the processes that replay for a process."""
    lines = []
    for child in psutil.Process(pid).children():
        with contextlib.suppress(psutil.Error):
            lines.append(" ".join(child.cmdline()))
    return [line for line in lines if "spawn_main" in line]


@pytest.mark.slow
def test_ctrl_c_gives_what_has_been_found_so_far(data: Path) -> None:
    words = ["replay", str(data / "philly" / "philly.csv.gz"), "-p", "fifo,fifo+none", "-j", "2", "--json"]
    running = subprocess.Popen(
        [CLEARWAY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while len(workers_of(running.pid)) < 2:
        assert running.poll() is None
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: each of its processes hears it
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    found = json.loads(out)
    assert found["partial"]
    assert all(p["partial"] for p in found["policies"].values())
