from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner

from clearway.cli.main import cli
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
echo $SLURM_JOB_ID
#SBATCH --gres=gpu:8
"""


def test_options_become_words_and_gaps_are_named() -> None:
    found = read_script(SCRIPT, "x")
    words = dict(found.words)
    assert words.pop("run") == ["/bin/bash", "-c", SCRIPT]
    assert words == {
        "name": "train", "queue": "gpu", "time_limit": "129600s", "tasks": 2, "one_per_node": True, "gpus": 4,
        "gpu_model": ["a100"], "cpus": 8, "memory": 64 * 2**30, "array": "0-9",
    }  # fmt: skip
    assert [gap.partition(":")[0] for gap in found.missing] == [
        "--mail-type", "--array %2", "the script runs on each node, in Slurm on the first alone",
        "the script uses SLURM_JOB_ID",
    ]  # fmt: skip
    read_job({word: value for word, value in found.words.items() if word not in ("tasks", "one_per_node")})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-n 4", {"cpus": 4}),
        ("--ntasks=4 --cpus-per-task=2", {"cpus": 8}),
        ("--gpus=8 --nodes=4", {"gpus": 2, "tasks": 4, "one_per_node": True}),
        ("-C h100&ib", {"nodes": {"slurm/h100": "true", "slurm/ib": "true"}}),
        ("--time=30", {"time_limit": "1800s"}),
        ("--exclusive --mem 2048", {"memory": 2 * 2**30}),
    ],
)
def test_each_option_has_its_meaning(line: str, words: dict[str, object]) -> None:
    found = read_script(f"#!/bin/sh\n#SBATCH {line}\ntrue\n", "x").words
    assert {word: value for word, value in found.items() if word not in ("name", "run")} == words
    assert found["name"] == "x"


@pytest.mark.parametrize("text", ["", "echo\n", "#!/bin/sh\n#SBATCH --nodes=many\n", "#!/bin/sh\n#SBATCH -t soon\n"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_script(text, "x")


def test_the_command_writes_a_job_file(tmp_path: Path) -> None:
    (tmp_path / "small.sbatch").write_text("#!/bin/sh\n#SBATCH -c 2\n#SBATCH --mail-type=END\ntrue\n")
    done = CliRunner().invoke(cli, ["import", str(tmp_path / "small.sbatch")])
    assert done.exit_code == 0, done.output
    (words,) = yaml.safe_load(done.stdout)["jobs"]
    assert (words["name"], words["cpus"]) == ("small", 2)
    assert "small: no counterpart: --mail-type" in done.stderr
    read_job(words)
