"""Models of load of others are found by their entry point."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from clearway.compose.load_models import load_models
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
class Model:
    name = "{name}"
    def fit(self, past, horizons):
        return self
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which packages are found."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(folder: Path, module: str, name: str) -> None:
    (folder / f"{module}.py").write_text(MODULE.format(name=name))
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[clearway.load_models]\nmine = {module}:Model\n")
    sys.modules.pop(module, None)


def test_those_that_need_nothing_come_first() -> None:
    names = [model.name for model in load_models()]
    assert names[:5] == ["persistence", "yesterday", "profile", "seasonal-ar", "ridge"]
    assert "boosted" in names


def test_a_model_of_others_is_found(package: Path) -> None:
    install(package, "their_load", "theirs")
    assert load_models()[-1].name == "theirs"


@pytest.mark.parametrize("taken", ["ridge", "middle"])
def test_its_name_has_to_be_its_own(package: Path, taken: str) -> None:
    install(package, f"their_{taken}", taken)
    with pytest.raises(InputError, match="taken"):
        load_models()
