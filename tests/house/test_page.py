"""The dashboard's files: text from users only ever becomes text, nothing comes from elsewhere, and files stay small."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.house.code import PACKAGE

if TYPE_CHECKING:
    from pathlib import Path

STATIC = PACKAGE / "api" / "static"
FILE_LINES = 700  # of a style sheet; scripts are held to fewer
SCRIPT_LINES = 400
BAD = {
    "text read as markup": r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|setHTML|srcdoc|DOMParser",
    "a document written": r"document\.write",
    "text run as a program": r"\beval\s*\(|new Function|setTimeout\(\s*[\"'`]|javascript:",
    "an address of another place": r"https?://(?!www\.w3\.org/(?:2000/svg|1999/xlink))|[\"'(]//",
    "a style that the content policy refuses": r"setAttribute\(\s*[\"']style|\sstyle=\"",
    "a script inside a page": r"<script(?![^>]*\ssrc=)|\son[a-z]+=\"",
}


def texts() -> list[Path]:
    return sorted(path for path in STATIC.rglob("*") if path.suffix in {".js", ".css", ".html", ".svg"})


@pytest.mark.parametrize("what", BAD)
def test_no_file_of_the_page_holds(what: str) -> None:
    found = [
        f"{path.relative_to(STATIC)}:{number} {line.strip()[:80]}"
        for path in texts()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(BAD[what], line) and not (path.suffix == ".svg" and "xmlns" in line)
    ]
    assert found == []


def test_the_patterns_find_what_they_look_for() -> None:
    for line in ("a.inner" + "HTML = b", "ev" + "al (x)", "fetch('http:" + "//x')", "<script>", '<a onclick="x">'):
        assert any(re.search(pattern, line) for pattern in BAD.values()), line


def test_files_of_the_page_are_small_enough_to_be_read() -> None:
    limit = {".js": SCRIPT_LINES}
    lines = {path.name: len(path.read_text().splitlines()) for path in texts()}
    assert {name: n for name, n in lines.items() if n > limit.get(f".{name.rpartition('.')[2]}", FILE_LINES)} == {}


def test_every_script_is_used() -> None:
    scripts = {path.relative_to(STATIC).as_posix() for path in texts() if path.suffix == ".js"}
    named = "\n".join(path.read_text() for path in texts())
    assert [name for name in sorted(scripts) if f"/{name.rpartition('/')[2]}" not in named] == []


def test_what_others_made_has_its_licence_beside_it() -> None:
    fonts = {path.parent for path in STATIC.rglob("*.woff2")}
    assert fonts
    assert [folder for folder in fonts if "Open Font License" not in (folder / "LICENSE").read_text()] == []
