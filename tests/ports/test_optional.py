from __future__ import annotations

import pytest

from clearway.engines.slurm.engine import LACKS
from clearway.model.job import Demand, JobSpec, Role
from clearway.ports.optional import OPTIONAL, lacked


def _asks(demand: Demand) -> JobSpec:
    return JobSpec("j", roles=(Role("first"), Role("second", demand=demand)))


@pytest.mark.parametrize(
    ("spec", "word", "value"),
    [
        (JobSpec("j", image="pytorch:2"), "image", "pytorch:2"),
        (JobSpec("j", venv="env"), "venv", "env"),
        (JobSpec("j", runtime_env="{}"), "runtime_env", "{}"),
        (_asks(Demand(share=500, gpu_memory=1)), "gpus", 0.5),
        (_asks(Demand(gpu_memory=1 << 30)), "gpu_memory", 1 << 30),
        (_asks(Demand(gpus=1, colocate=2)), "colocate", 2),
    ],
)
def test_a_word_that_an_engine_lacks_is_named_with_what_may_be_said(spec: JobSpec, word: str, value: object) -> None:
    found = lacked(spec, LACKS)
    assert found is not None
    assert found == (word, value, LACKS[word])
    assert str(found) == f"{word}: {value!r} is refused: {LACKS[word]}"
    assert lacked(spec, {other: rule for other, rule in LACKS.items() if other != word}) is None


def test_whole_devices_with_memory_are_no_share() -> None:
    assert lacked(_asks(Demand(gpus=2, gpu_memory=1 << 30)), dict.fromkeys(OPTIONAL, "none")) is None
