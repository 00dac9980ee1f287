"""Boosted trees speak in forecasts where the settings ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clearway.compose import assemble
from clearway.config.settings import Settings
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def test_nobody_advises_unless_asked(tmp_path: Path) -> None:
    assert assemble._adviser(Settings(tmp_path)) is None


def test_boosted_trees_come_with_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Settings(tmp_path, boosted_trees=True)
    adviser = assemble._adviser(asked)
    assert adviser is not None
    assert adviser.model == ""
    monkeypatch.setattr(assemble, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"boosted_trees: .*clearway\[learn\]"):
        assemble._adviser(asked)
