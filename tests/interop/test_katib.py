"""Katib's Experiments read and written: what has a counterpart comes through, what has none is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from clearway.cli.main import cli
from clearway.flow.search_words import read_search
from clearway.interop.katib import read_experiment, write_experiment
from clearway.model.errors import InputError

LOG = "metrics in its log: a trial writes loss to $CLEARWAY_METRICS"
FILE = Path(__file__).with_name("katib-random.yaml")


def test_an_experiment_is_read() -> None:
    words, missing = read_experiment(yaml.safe_load(FILE.read_text()))
    line = 'python3 /opt/mnist.py --epochs=1 --lr="${CLEARWAY_POINT_lr}" --opt "${CLEARWAY_POINT_optimizer}"'
    assert words == {
        "name": "random", "parallel": 3, "trials": 12, "max_failed": 3, "direction": "minimize", "metric": "loss",
        "sampler": "random", "seed": 10, "stop": {"rule": "median", "min_trials": 3, "min_step": 5},
        "space": {
            "lr": {"from": 0.01, "to": 0.05}, "layers": {"from": 2, "to": 5}, "width": [16, 32, 48, 64],
            "optimizer": ["sgd", "adam"], "momentum": [0.5, 0.9],
        },
        "job": {"run": line, "memory": "1Gi", "cpus": 0.5, "gpus": 1},
    }  # fmt: skip
    assert missing == [
        "spec.objective.goal", "spec.objective.additionalMetricNames",
        "spec.parameters lr: distribution logUniform; uniform instead", "spec.trialTemplate.retain",
        "trialSpec container.image", LOG,
    ]  # fmt: skip
    assert read_search(words).trials == 12


@pytest.mark.parametrize("raw", [None, {"kind": "Job"}, {"kind": "Experiment", "spec": {}}])
def test_what_is_none_is_refused(raw: object) -> None:
    with pytest.raises(InputError):
        read_experiment(raw)


JUNK: list[Any] = [None, 3, -1, "x", "nan", "1e999", True, [], {}, [3], ["x"], {"a": 1}, [{}], [{"name": 3}]]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return all places inside a value: what holds it, and under what."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [one for key in keys for one in ((value, key), *places(value[key]))]


@given(st.data())
def test_whatever_stands_in_a_place_it_is_read_or_refused(data: st.DataObject) -> None:
    raw = yaml.safe_load(Path(__file__).with_name("katib-random.yaml").read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places(raw)))
        holder[key] = data.draw(st.sampled_from(JUNK))
    try:
        words, _ = read_experiment(raw)
        read_search(words)
    except InputError as error:
        assert str(error)


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
RANGES = st.one_of(
    st.builds(lambda a, b: {"from": a, "to": a + b}, st.integers(-9, 9), st.integers(0, 9)),
    st.builds(lambda a, b: {"from": a, "to": a + b}, st.floats(-9, 9), st.floats(0.5, 9)),
    st.lists(st.integers(0, 99), min_size=1, unique=True),
    st.lists(NAMES, min_size=1, unique=True),
)


@given(
    st.dictionaries(NAMES, RANGES, min_size=2, max_size=4),
    st.sampled_from(["random", "tpe", "qmc"]),
    st.integers(1, 20),
    st.sampled_from([None, {"rule": "median"}, {"rule": "median", "min_step": 2, "min_trials": 4}]),
)
def test_what_is_written_is_read_again(space: dict[str, Any], sampler: str, trials: int, stop: Any) -> None:
    first = next(iter(space))
    words: dict[str, Any] = {
        "name": "x", "trials": trials, "parallel": 2, "max_failed": 3, "space": space, "sampler": sampler, "seed": 4,
        "metric": "loss", "direction": "maximize",
        "job": {"run": f"train --{first} ${{CLEARWAY_POINT_{first}}} > log", "gpus": 2, "memory": "3Gi"},
    }  # fmt: skip
    if stop:
        words["stop"] = stop
    written, missing = write_experiment(words, "image")
    assert missing == []
    again, unknown = read_experiment(yaml.safe_load(yaml.safe_dump(written)))
    assert again == words
    assert unknown == ["trialSpec container.image", LOG]


def test_what_katib_does_not_have_is_named() -> None:
    words = {
        "name": "x", "trials": 2, "space": {"a": [1, None]}, "sampler": "nsgaii", "stop": "halving",
        "job": {"run": ["a", "b c"], "queue": "q"},
    }  # fmt: skip
    written, missing = write_experiment(words, "i")
    assert missing == ["sampler nsgaii: random instead", "stop halving", "space a: its values as texts", "job queue"]
    container = written["spec"]["trialTemplate"]["trialSpec"]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["/bin/sh", "-c", "a 'b c'"]


def experiment(**more: Any) -> dict[str, Any]:
    """Return Katib's own experiment with parts of its `spec` otherwise."""
    raw: dict[str, Any] = yaml.safe_load(FILE.read_text())
    raw["spec"] |= more
    return raw


def test_parameters_whose_names_no_variable_may_have() -> None:
    container = {
        "name": "c",
        "command": ["train", "--n=${trialParameters.n}", "--as=${trialSpec.Name}-${trialParameters.me}"],
    }
    template = {
        "trialParameters": [{"name": "n", "reference": "num-epochs"}, {"name": "me", "reference": "${trialSpec.Name}"}],
        "trialSpec": {"spec": {"template": {"spec": {"containers": [container]}}}},
    }  # fmt: skip
    space = [{"name": "num-epochs", "parameterType": "int", "feasibleSpace": {"min": "1", "max": "9"}}]
    words, _ = read_experiment(experiment(parameters=space, trialTemplate=template))
    line = 'train --n="${CLEARWAY_POINT_num_epochs}" --as="${CLEARWAY_JOB}"-"${CLEARWAY_JOB}"'
    assert words["job"]["run"] == line
    written, _ = write_experiment(words, "i")
    told = written["spec"]["trialTemplate"]["trialSpec"]["spec"]["template"]["spec"]["containers"][0]["command"][2]
    assert '--n="${trialParameters.num-epochs}"' in told


def test_hyperband_stops_trials_by_what_they_report() -> None:
    settings = [
        {"name": "resource_name", "value": "layers"},
        {"name": "eta", "value": "3"},
        {"name": "r_l", "value": "9"},
    ]
    algorithm = {"algorithmName": "hyperband", "algorithmSettings": settings}
    words, missing = read_experiment(experiment(algorithm=algorithm, earlyStopping=None))
    assert words["stop"] == {"rule": "hyperband", "reduction": 3, "max_step": 9}
    assert (words["sampler"], words["space"]["layers"]) == ("random", [9])
    assert any("step by step" in one for one in missing)
    assert read_search(words).stop is not None


def test_the_commands(tmp_path: Path) -> None:
    said = CliRunner().invoke(cli, ["search", "import", str(FILE)])
    assert said.exit_code == 0
    assert "random: no counterpart: spec.objective.goal" in said.stderr
    found = tmp_path / "search.yaml"
    found.write_text(said.stdout)
    back = CliRunner().invoke(cli, ["search", "export", str(found), "--image", "mine"])
    assert (back.exit_code, back.stderr) == (0, "")
    assert yaml.safe_load(back.stdout)["spec"]["maxTrialCount"] == 12
    assert CliRunner().invoke(cli, ["search", "import", str(found)]).exit_code != 0
