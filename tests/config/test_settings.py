from __future__ import annotations

import re
from pathlib import Path

import pytest

from clearway.config.settings import SETTINGS, Settings, load_settings, read_settings
from clearway.model.errors import InputError, UnknownWordError

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"
HOME = Path("/home")


def test_nothing_said_is_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings(tmp_path)
    assert Settings(tmp_path).policy == "fair"


def test_a_file_is_read_with_the_words_that_are_used_everywhere(tmp_path: Path) -> None:
    (tmp_path / "clearway.yaml").write_text(
        """
        policy: {order: [priority, fifo], lease: 10s}
        queues: [{name: research, limit: {gpus: 2}, defaults: {max_retries: 3}}]
        limits: [{name: database, slots: 4}]
        fleet: {nodes: [{name: n, count: 2, gpus: 8, memory: 64GiB}]}
        listen: 127.0.0.1:0
        synchronous: normal
        kept_finished: 5
        boosted_trees: true
        body_limit: 1MiB
        """
    )
    found = load_settings(tmp_path)
    assert [n.name for n in found.fleet] == ["n-0", "n-1"]
    assert found.queues[0].limit == (("gpus", 2000),)
    assert found.limits[0].slots == 4
    assert (found.listen, found.synchronous, found.kept_finished, found.body_limit) == (
        ("127.0.0.1", 0),
        "normal",
        5,
        2**20,
    )
    assert found.boosted_trees
    assert not isinstance(found.policy, str)
    assert found.policy.lease_us == 10_000_000


def test_options_are_laid_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "clearway.yaml").write_text("devices: 2\npolicy: cheap\n")
    found = load_settings(tmp_path, {"devices": 4, "policy": None})
    assert (found.devices, found.policy) == (4, "cheap")


def test_a_fleet_may_lie_in_a_file_of_its_own(tmp_path: Path) -> None:
    for text in ("fleet:\n  nodes: [{name: a}]\n", "nodes: [{name: a}]\n"):
        (tmp_path / "fleet.yaml").write_text(text)
        assert load_settings(tmp_path, {"fleet": str(tmp_path / "fleet.yaml")}).fleet[0].name == "a"


@pytest.mark.parametrize(
    ("raw", "field", "rule"),
    [
        ({"devices": -1}, "devices", "whole number"),
        ({"devices": True}, "devices", "whole number"),
        ({"devices": 1.5}, "devices", "whole number"),
        ({"engine": "slurmy"}, "engine", "one of local, ray, slurm"),
        ({"slurm": "gpu"}, "slurm", "a map of words"),
        ({"slurm": {"pending": "soon"}}, "pending", "duration"),
        ({"slurm": {"partition": ""}}, "partition", "a text"),
        ({"ray": {"address": 7}}, "address", "text"),
        ({"ray": {"address": "10.0.0.1"}}, "address", "HOST:PORT"),
        ({"listen": "example.org:80"}, "listen", "127.0.0.1:8080"),
        ({"listen": "127.0.0.1:99999"}, "listen", "0 to 65535"),
        ({"listen": "127.0.0.1"}, "listen", "PORT"),
        ({"synchronous": "off"}, "synchronous", "one of full, normal"),
        ({"kept_finished": float("nan")}, "kept_finished", "whole number"),
        ({"body_limit": "1"}, "body_limit", "size"),
        ({"body_limit": 1}, "body_limit", "from 1024"),
        ({"queues": {"name": "a"}}, "queues", "a list"),
        ({"queues": [{"name": "a"}, {"name": "a"}]}, "queues", "once"),
        ({"queues": [{"name": "a", "weight": -1}]}, "weight", "whole number"),
        ({"limits": [{"name": "a"}]}, "limits", "slots"),
        ({"fleet": {"nodes": [{"name": "a", "gpus": 1.5}]}}, "gpus", "whole number"),
        ({"fleet": {"nodes": [{"name": "a"}, {"name": "a"}]}}, "nodes", "once"),
        ({"fleet": "/does/not/exist.yaml"}, "file", "can be read"),
        ({"policy": {"backfill": "hard"}}, "backfill", "one of none"),
        ({"policy": 7}, "policy", "text"),
        ({"uids": ["ada"]}, "uids", "a map of users"),
        ({"uids": {"ada": 0}}, "uids.ada", "from 1"),
        ({"uids": {"ada": "root"}}, "uids.ada", "whole number"),
    ],
)
def test_a_bad_value_is_refused_with_field_value_and_rule(raw: dict[str, object], field: str, rule: str) -> None:
    with pytest.raises(InputError) as told:
        read_settings(HOME, raw, "clearway.yaml")
    assert told.value.field == field
    assert rule in told.value.rule
    assert told.value.place


def test_an_unknown_key_names_key_place_and_nearest() -> None:
    with pytest.raises(UnknownWordError, match=r"polcy: .*did you mean 'policy'.*clearway\.yaml"):
        read_settings(HOME, {"polcy": "fair"}, "clearway.yaml")
    with pytest.raises(UnknownWordError, match=r"partiton: .*did you mean 'partition'.*slurm"):
        read_settings(HOME, {"slurm": {"partiton": "gpu"}}, "clearway.yaml")
    with pytest.raises(UnknownWordError, match="did you mean 'weight'"):
        read_settings(HOME, {"queues": [{"name": "a", "wieght": 1}]}, "clearway.yaml")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("devices: 1\ndevices: 2\n", "twice.*line 2"),
        ("queues: [\n", "well-formed"),
        ("- a\n", "a map of settings"),
        ("? [a, b]\n: 1\n", "a key is a text"),
    ],
)
def test_a_file_that_is_no_map_of_settings_is_told_with_its_place(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / "clearway.yaml").write_text(text)
    with pytest.raises(InputError, match=f"(?s){match}") as told:
        load_settings(tmp_path)
    assert str(tmp_path) in str(told.value)


def test_a_file_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    (tmp_path / "clearway.yaml").write_bytes(b"policy: \xff\n")
    with pytest.raises(InputError, match="a text in UTF-8"):
        load_settings(tmp_path)


def test_each_setting_is_documented_with_its_default() -> None:
    rows = dict(
        re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|", DOCS.read_text().partition("## What lies")[0], re.MULTILINE)
    )
    assert {name: s.default.strip("`") for name, s in SETTINGS.items()} == {
        name: d.strip("`") for name, d in rows.items()
    }
