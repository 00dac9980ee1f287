from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from clearway.compose import engines
from clearway.compose.engines import MAKERS, Around, Reach, check_engine, order_of
from clearway.config.engine_words import ENGINES, Slurm
from clearway.config.settings import Settings, load_settings
from clearway.model.actions import Launch
from clearway.model.errors import InputError
from clearway.model.events import Grant, TaskRef
from clearway.model.fleet import NodeSpec
from clearway.model.ids import JobId, NodeId
from clearway.model.job import JobSpec

if TYPE_CHECKING:
    from pathlib import Path

LAUNCH = Launch(TaskRef(JobId(1), 1, 0, 0), JobSpec("j", run=("true",)), Grant(0, 0, NodeId(0), (1,)), "n2", 1, 2, "n1")


def test_every_engine_of_the_settings_has_its_maker() -> None:
    assert tuple(MAKERS) == ENGINES


def test_an_engine_has_words_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clearway.yaml").write_text("engine: slurm\nslurm: {partition: gpu, account: lab, pending: 2m}\n")
    found = load_settings(tmp_path)
    assert (found.engine, found.slurm) == ("slurm", Slurm("gpu", "lab", pending_us=120_000_000))
    monkeypatch.setattr(engines, "which", "/usr/bin/{}".format)
    check_engine(found)


def test_an_engine_is_refused_where_what_it_needs_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    monkeypatch.setattr(engines, "which", lambda name: None if name == "sinfo" else f"/usr/bin/{name}")
    for engine, rule in {"ray": "pip install 'clearway\\[ray\\]'", "slurm": "not found on PATH: sinfo"}.items():
        with pytest.raises(InputError, match=rule) as told:
            check_engine(Settings(tmp_path, engine=engine))
        assert told.value.field == "engine"
    check_engine(Settings(tmp_path))


@pytest.mark.parametrize(
    ("settings", "field", "rule"),
    [
        ({"engine": "slurm", "devices": 4}, "devices", "engine `slurm`"),
        ({"engine": "slurm", "uids": (("ada", 1001),)}, "uids", "engine `slurm`"),
        ({"engine": "slurm", "fleet": (NodeSpec("a"),)}, "fleet", "engine `slurm`"),
        ({"fleet": (NodeSpec("a"), NodeSpec("b"))}, "fleet", "one node"),
        ({"engine": "ray", "devices": 4}, "devices", "engine `ray`"),
    ],
)
def test_what_an_engine_has_no_use_for_is_refused(
    tmp_path: Path, settings: dict[str, object], field: str, rule: str
) -> None:
    with pytest.raises(InputError) as told:
        check_engine(Settings(tmp_path, **settings))  # type: ignore[arg-type]
    assert told.value.field == field
    assert rule in told.value.rule


def test_a_task_elsewhere_is_told_where_the_controller_listens(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    reach = Reach(settings)
    order = order_of(Around(settings, ("", 0), "", reach))
    assert "CLEARWAY_URL" not in order(LAUNCH)["env"]
    reach.opened("http://0.0.0.0:8443")
    found = order(LAUNCH)["env"]
    assert found["CLEARWAY_URL"] == f"http://{socket.getfqdn()}:8443"
    assert found["CLEARWAY_TOKEN_FILE"] == str(tmp_path / "token")
    assert found["CUDA_VISIBLE_DEVICES"] == "1"


def test_nodes_that_see_only_the_engines_home_find_the_token_there(tmp_path: Path) -> None:
    home, shared = tmp_path / "home", tmp_path / "shared"
    home.mkdir()
    shared.mkdir()
    (home / "token").write_text("secret\n")
    reach = Reach(Settings(home, engine_home=shared, public_url="https://gpu.example.org"))
    reach.opened("https://0.0.0.0:8443")
    assert reach.env == {"CLEARWAY_URL": "https://gpu.example.org", "CLEARWAY_TOKEN_FILE": str(shared / "token")}
    assert (shared / "token").read_text() == "secret\n"
    assert (shared / "token").stat().st_mode & 0o777 == 0o600
    reach.opened("")
    assert [path.name for path in shared.iterdir()] == ["token"]
