"""Files of jobs are read exactly, and what is wrong in one is named with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.cli.job_files import maps_of_files
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def jobs(folder: Path, text: str) -> list[dict[str, object]]:
    file = folder / "jobs.yaml"
    file.write_text(text)
    return maps_of_files([str(file)], "jobs")


@pytest.mark.parametrize(
    "text",
    [
        "{name: a}\n---\n{name: b}",
        "[{name: a}, {name: b}]",
        "jobs: [{name: a}, {name: b}]",
        "---\n---\njobs: [{name: a}]\n---\n- name: b\n",
    ],
)
def test_one_job_a_list_a_map_of_jobs_and_several_documents(tmp_path: Path, text: str) -> None:
    assert jobs(tmp_path, text) == [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("2026-12-01T08:00:00Z", "2026-12-01T08:00:00Z"),
        ("010", 10),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ("2.0", 2.0),
        ("-1", -1),
        ("'1'", "1"),
    ],
)
def test_a_plain_value_means_what_it_looks_like(tmp_path: Path, text: str, value: object) -> None:
    (job,) = jobs(tmp_path, f"{{name: a, queue: {text}}}")
    assert job["queue"] == value
    assert type(job["queue"]) is type(value)


def test_not_a_number_arrives_as_such_for_the_schema_to_refuse(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, "{name: a, gpus: .nan, cpus: .inf}")
    assert job["gpus"] != job["gpus"]
    assert job["cpus"] == float("inf")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{name: a, name: b}", "stands twice"),
        ("a: b: c", "line 1"),
        ("name: 'a", "line 1"),
        ("- 7", r"jobs\[0\]: 7 is refused"),
        ("just words", "a map of words"),
        ("", "at least one of the jobs"),
        ("jobs: []", "at least one of the jobs"),
        ("jobs: 7", "a list of jobs"),
        ("{jobs: [{name: a}], fleet: {}}", "fleet"),
        ("!!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("name: \x07", "characters are not allowed"),
        ("[" * 5000, "well-formed"),
        (f"{{name: a, gpus: {'9' * 5000}}}", "digits"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        jobs(tmp_path, text)
    assert "jobs.yaml" in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InputError, match="a file that can be read"):
            maps_of_files([str(path)], "jobs")
    (tmp_path / "latin").write_bytes(b"name: \xb2")
    with pytest.raises(InputError, match="UTF-8"):
        maps_of_files([str(tmp_path / "latin")], "jobs")
