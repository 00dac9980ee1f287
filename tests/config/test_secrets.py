from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from clearway.config import secrets
from clearway.config.secrets import MOST_BYTES, TENANT, USER
from clearway.model.errors import InputError, NotFoundError, StoreError

if TYPE_CHECKING:
    from pathlib import Path


def _read(home: Path, name: str, user: str = "", tenant: str = "") -> bytes | None:
    found = [path for path in secrets.places_of(home, name, user, tenant) if path.exists()]
    return found[0].read_bytes() if found else None


def test_only_its_user_can_read_it(tmp_path: Path) -> None:
    secrets.put(tmp_path, USER, "her", "TOKEN", b"x")
    for path in (tmp_path / "secrets").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700


def test_the_users_own_comes_before_the_tenants_and_nobody_elses_is_found(tmp_path: Path) -> None:
    secrets.put(tmp_path, TENANT, "vision", "TOKEN", b"tenant's")
    assert _read(tmp_path, "TOKEN", "her", "vision") == b"tenant's"
    secrets.put(tmp_path, USER, "her", "TOKEN", b"hers")
    assert _read(tmp_path, "TOKEN", "her", "vision") == b"hers"
    assert _read(tmp_path, "TOKEN", "him", "speech") is None
    assert _read(tmp_path, "TOKEN", "vision", "her") is None
    secrets.put(tmp_path, USER, "her", "TOKEN", b"new")
    assert _read(tmp_path, "TOKEN", "her") == b"new"


def test_names_are_listed_and_forgotten(tmp_path: Path) -> None:
    assert secrets.names(tmp_path, USER, "../..") == []
    for name in ("B", "A"):
        secrets.put(tmp_path, USER, "../..", name, b"x")
    assert secrets.names(tmp_path, USER, "../..") == ["A", "B"]
    secrets.remove(tmp_path, USER, "../..", "A")
    with pytest.raises(NotFoundError):
        secrets.remove(tmp_path, USER, "../..", "A")
    assert secrets.names(tmp_path, USER, "../..") == ["B"]
    assert [path.name for path in tmp_path.iterdir()] == ["secrets"]


@pytest.mark.parametrize("value", [b"", b"sec\0ret", b"s" * (MOST_BYTES + 1)], ids=["none", "zero byte", "too long"])
def test_a_refused_value_is_not_shown(tmp_path: Path, value: bytes) -> None:
    with pytest.raises(InputError, match=r"value: '\(not shown\)' is refused: 1 to 65536 bytes without zero bytes"):
        secrets.put(tmp_path, USER, "her", "TOKEN", value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("")
    with pytest.raises(StoreError, match="the secret TOKEN cannot be kept"):
        secrets.put(tmp_path, USER, "her", "TOKEN", b"x")


def test_a_job_needs_what_is_set(tmp_path: Path) -> None:
    secrets.put(tmp_path, USER, "her", "A", b"x")
    secrets.check(tmp_path, ("A",), "her", "")
    with pytest.raises(InputError, match="secrets: 'B' is refused: a secret that is set: clearway secret set B"):
        secrets.check(tmp_path, ("A", "B"), "her", "")
