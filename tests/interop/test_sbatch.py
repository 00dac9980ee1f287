from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any, cast

import pytest
from click.testing import CliRunner

from clearway.cli.main import cli
from clearway.config.yaml_file import parse_yaml
from clearway.interop.sbatch import read_script
from clearway.model.errors import InputError
from clearway.model.words import read_job

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """#!/bin/bash
#SBATCH --job-name=train --partition gpu
#SBATCH -t 1-12:00
#SBATCH -N 2
#SBATCH --gres=gpu:a100:4
#SBATCH -c8
#SBATCH --mem=64G
#SBATCH --output=out.%j   # kept anyway
#SBATCH --mail-type=END
#SBATCH --array=0-9%2
echo $SLURM_JOB_UID
#SBATCH --gres=gpu:8
"""


def test_options_become_words_and_gaps_are_named() -> None:
    found = read_script(SCRIPT, "x")
    words = dict(found.words)
    assert words.pop("run") == ["/bin/bash", "-c", SCRIPT]
    assert words == {
        "name": "train", "queue": "gpu", "time_limit": "129600s", "tasks": 2, "one_per_node": True, "gpus": 4,
        "gpu_model": ["a100"], "cpus": 8, "memory": 64 * 2**30, "array": "0-9%2",
    }  # fmt: skip
    assert [gap.partition(":")[0] for gap in found.missing] == [
        "--mail-type=END", "the script uses SLURM_JOB_UID", "the script runs on each node, in Slurm on the first alone",
    ]  # fmt: skip
    read_job(found.words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-n 4", {"cpus": 4}),
        ("--ntasks=4 --cpus-per-task=2", {"cpus": 8}),
        ("--gpus=8 --nodes=4", {"gpus": 2, "tasks": 4, "one_per_node": True}),
        ("-C h100&ib -w n1", {"nodes": {"slurm/h100": "true", "slurm/ib": "true", "name": "n1"}}),
        ("--time=30", {"time_limit": "1800s"}),
        ("-t 1-12 --requeue", {"time_limit": "129600s"}),
        ("--exclusive --mem 2048", {"memory": 2 * 2**30}),
        ("-c 4 --mem-per-cpu=4G", {"cpus": 4, "memory": 16 * 2**30}),
        ("-G a100:2 --mem-per-gpu=80G --cpus-per-gpu=12",
         {"gpus": 2, "gpu_model": ["a100"], "cpus": 24, "memory": 160 * 2**30}),
        ("--gres=gpu:1,nvme:100 --tmp=2G", {"gpus": 1, "disk": 2 * 2**30}),
        ("--signal=B:USR1@120", {"checkpoint": {"signal": "SIGUSR1", "grace": "120s"}}),
        ("--no-requeue --export=ALL,A=1", {"max_losses": 0, "env": {"A": "1"}}),
        ("-a 7", {"array": "7-7"}),
        ("--chdir='/a b'  # here", {"workdir": "/a b"}),
    ],
)  # fmt: skip
def test_each_option_has_its_meaning(line: str, words: dict[str, object]) -> None:
    found = read_script(f"#!/bin/sh\n#SBATCH {line}\ntrue\n", "x").words
    assert {word: value for word, value in found.items() if word not in ("name", "run")} == words
    assert found["name"] == "x"
    read_job(found)


def test_what_srun_starts_on_a_node_are_tasks() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -c 6 --mem=64G\n"
    found = read_script(f"{head}srun python train.py\n", "x").words
    assert [found[word] for word in ("tasks", "gpus", "cpus", "memory")] == [8, 1, 6, 16 * 2**30]
    side_by_side = read_script(f"{head}srun -n1 ./a &\nsrun -n1 ./b &\nwait\n", "x").words
    assert [side_by_side[word] for word in ("tasks", "gpus", "cpus")] == [2, 4, 24]


@pytest.mark.parametrize(
    ("line", "gap"),
    [
        ("--dependency=afterok:12:13", "`after`"),
        ("--exclusive", "--exclusive"),
        ("--gres=gpu:1,nvme:100", "--gres=nvme:100"),
        ("-C [a100|h100]", "--constraint=[a100|h100]"),
        ("--signal=64@10", "--signal=64@10"),
        ("-p gpu,long", "the first one is taken"),
        ("hetjob", "`roles`"),
        ("--mem=0", "all memory"),
        ("-A project", "--account=project"),
    ],
)
def test_what_has_no_counterpart_is_named(line: str, gap: str) -> None:
    assert gap in "\n".join(read_script(f"#!/bin/sh\n#SBATCH {line}\ntrue\n", "x").missing)


def test_a_script_finds_what_slurm_would_tell_it(tmp_path: Path) -> None:
    """Its variables, `srun`, and the first node by its usual line."""
    text = """#!/bin/bash
#SBATCH -c 2 -J 'a b'
set -eu
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun -n 1 --cpu-bind=none -u \\
    printf '%s|' "$SLURM_JOB_NAME" $SLURM_CPUS_PER_TASK $SLURM_ARRAY_TASK_ID $SLURM_RESTART_COUNT "$first" $#
"""
    env = {"CLEARWAY_INDEX": "3", "CLEARWAY_ATTEMPT": "2", "MASTER_ADDR": "10.0.0.1", "PATH": os.environ["PATH"]}
    done = subprocess.run(
        read_script(text, "x").words["run"], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "a b|2|3|1|10.0.0.1|0|"


def test_the_program_behind_the_mark_runs_the_script() -> None:
    assert read_script("#!/usr/bin/env bash\nmodule load cuda\n", "x").words["run"][:4] == [
        "/usr/bin/env", "bash", "-l", "-c",
    ]  # fmt: skip
    assert read_script("#!/usr/bin/env python3\nprint()\n", "x").words["run"][:3] == ["/usr/bin/env", "python3", "-c"]
    assert "perl" in read_script("#!/usr/bin/perl\n", "x").missing[0]


@pytest.mark.parametrize(
    "text",
    ["", "echo\n", *(f"#!/bin/sh\n#SBATCH {odd}\n" for odd in ("--nodes=many", "-t soon", "--job-name='open"))],
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_script(text, "x")


def test_the_command_writes_a_job_file(tmp_path: Path) -> None:
    """And one that reads as it was written, also where a name looks like a number."""
    text = "#!/bin/sh\n#SBATCH -c 2\n#SBATCH --mail-type=END\ntrue\n"
    (tmp_path / "09.sbatch").write_text(text)
    done = CliRunner().invoke(cli, ["import", str(tmp_path / "09.sbatch")])
    assert done.exit_code == 0, done.output
    (words,) = cast("dict[str, Any]", parse_yaml(done.stdout, "stdout"))["jobs"]
    assert words == {"name": "09", "cpus": 2, "run": ["/bin/sh", "-c", text]}
    assert "09: no counterpart: --mail-type=END" in done.stderr
    read_job(words)
