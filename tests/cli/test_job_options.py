"""Words on a command line become the values that the schema reads, whatever they look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from clearway.cli.job_options import SEARCH_VARIABLES, at_this_place, given_words, job_options, number_or_text
from clearway.model.errors import InputError
from clearway.model.words import JOB_WORDS, read_job


def words_of(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    @click.command()
    @job_options
    def take(**options: Any) -> None:
        found.update(given_words(options))

    result = CliRunner().invoke(take, args)
    if result.exception:
        raise result.exception
    return found


def test_nothing_given_says_nothing() -> None:
    assert words_of() == {}


def test_every_word_but_the_command_is_an_option() -> None:
    @click.command()
    @job_options
    def take(**options: Any) -> None:
        del options

    assert [p.name for p in take.params] == [name for name in JOB_WORDS if name != "run"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--gpus", "2"), {"gpus": 2}),
        (("--gpus", "0.5"), {"gpus": 0.5}),
        (("--gpus", "-1"), {"gpus": -1}),
        (("--gpus", "nan"), {"gpus": "nan"}),
        (("--gpus", "true"), {"gpus": "true"}),
        (("--priority", "-5"), {"priority": -5}),
        (("--gpu-memory", "40GiB"), {"gpu_memory": "40GiB"}),
        (("--memory", "1073741824"), {"memory": 1073741824}),
        (("--memory", "128m"), {"memory": "128m"}),
        (("--time-limit", "90"), {"time_limit": 90}),
        (("--time-limit", "1h30m"), {"time_limit": "1h30m"}),
        (("--name", "7"), {"name": "7"}),
        (("--env", "A=1", "--env", "B=x=y", "--env", "C="), {"env": {"A": "1", "B": "x=y", "C": ""}}),
        (("--resources", "npu=2"), {"resources": {"npu": 2}}),
        (("--gpu-model", "A100,H100"), {"gpu_model": ["A100", "H100"]}),
        (("--after", "a", "--after", "b,c"), {"after": ["a", "b", "c"]}),
        (("--no-preemptible",), {"preemptible": False}),
        (("--one-per-node",), {"one_per_node": True}),
        (("--checkpoint", "{every: 10m, on_stop: true}"), {"checkpoint": {"every": "10m", "on_stop": True}}),
    ],
)
def test_text_becomes_the_value_it_looks_like(args: tuple[str, ...], words: dict[str, Any]) -> None:
    assert words_of(*args) == words


@pytest.mark.parametrize("text", ["1e400", "1_000", "0x10", "١", "", " 1", "1" * 5000, "inf", "-inf", "1e-9999"])
def test_what_is_no_plain_number_stays_text_for_the_schema_to_refuse(text: str) -> None:
    found = number_or_text(text)
    assert isinstance(found, str)
    with pytest.raises(InputError, match="gpus"):
        read_job({"name": "j", "gpus": found})


@pytest.mark.parametrize("text", ["A", "=1", ""])
def test_a_pair_needs_a_key_and_an_equals_sign(text: str) -> None:
    with pytest.raises(InputError, match="KEY=VALUE") as caught:
        words_of("--env", text)
    assert caught.value.field == "env"


def test_nested_text_that_is_no_yaml_is_refused_naming_the_option() -> None:
    with pytest.raises(InputError, match="--checkpoint"):
        words_of("--checkpoint", "{every: ")


def test_a_job_runs_in_the_directory_of_its_submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert at_this_place({})["workdir"] == str(tmp_path)
    assert at_this_place({"workdir": "a/../b"})["workdir"] == str(tmp_path / "b")
    assert at_this_place({"workdir": "/x"})["workdir"] == "/x"
    assert at_this_place({"workdir": "~"})["workdir"] == str(Path.home())


def test_a_job_finds_the_programs_that_its_submitter_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SEARCH_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/there")
    monkeypatch.setenv("TOKEN", "secret")
    assert at_this_place({"env": {"A": 1}})["env"] == {"PATH": "/there", "A": 1}
    assert at_this_place({"env": {"PATH": "/mine"}})["env"] == {"PATH": "/mine"}


@pytest.mark.parametrize("words", [{"env": [1]}, {"workdir": 7}])
def test_values_of_the_wrong_kind_reach_the_schema(words: dict[str, Any]) -> None:
    (field,) = words
    with pytest.raises(InputError) as caught:
        read_job({"name": "j", **at_this_place(words)})
    assert caught.value.field == field
