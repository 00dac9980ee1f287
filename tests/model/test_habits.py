"""Words of other systems lead to those here."""

from __future__ import annotations

import pytest

from clearway.flow.schedule_words import read_schedule
from clearway.flow.search_words import read_search
from clearway.flow.words import read_flow
from clearway.model.errors import UnknownWordError
from clearway.model.habits import SAME, SCENARIO
from clearway.model.words import JOB_WORDS, read_job


@pytest.mark.parametrize(
    ("word", "ours"),
    [("depends_on", "after"), ("trigger_rule", "rule"), ("retries", "max_retries"), ("bash_command", "run"),
     ("expand", "each"), ("pool", "uses"), ("execution_timeout", "time_limit"), ("retry_delay", "retry_backoff")],
)  # fmt: skip
def test_a_step(word: str, ours: str) -> None:
    with pytest.raises(UnknownWordError, match=f"did you mean '{ours}'"):
        read_flow({"name": "f", "steps": [{"name": "a", "run": "true", word: 1}]})


def test_a_workflow_a_schedule_a_search_and_a_job() -> None:
    with pytest.raises(UnknownWordError, match="did you mean 'steps'"):
        read_flow({"name": "f", "tasks": []})
    with pytest.raises(UnknownWordError, match="did you mean 'timezone'"):
        read_schedule({"name": "s", "cron": "@daily", "tz": "UTC", "job": {"run": "true"}}, {})
    with pytest.raises(UnknownWordError, match="did you mean 'trials'"):
        read_search({"name": "s", "n_trials": 3})
    with pytest.raises(UnknownWordError, match="did you mean 'gpus'"):
        read_job({"name": "j", "num_gpus": 3})


@pytest.mark.parametrize("word", sorted(SCENARIO))
def test_a_word_of_scenarios_is_told_as_such(word: str) -> None:
    assert word not in JOB_WORDS
    with pytest.raises(UnknownWordError, match="a word of scenarios"):
        read_job({"name": "j", "run": "true", word: 1})


def test_no_word_here_means_another_one_there() -> None:
    assert not [word for ours in SAME.values() for word in ours.split() if word in JOB_WORDS and word not in TWICE]


TWICE = {"tasks", "nodes", "labels", "run"}
"""Words of a job that elsewhere are something else of a workflow or a schedule."""
