"""The documentation as a site: it builds without a warning, links lead somewhere, nothing comes from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.leads_to: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "a" and named.get("href"):
            self.leads_to.append(str(named["href"]))
        loaded = named.get("src") or (named.get("href") if tag == "link" else None)
        if loaded:
            self.loads.append(loaded)


def build(folder: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "-f",
        str(config),
        "--site-dir",
        str(folder),
    ]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def pages(site: Path) -> dict[Path, _Links]:
    found = {}
    for path in site.rglob("*.html"):
        found[path] = _Links()
        found[path].feed(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_every_link_leads_somewhere(site: Path) -> None:
    missing = []
    for page, links in pages(site).items():
        for link in (*links.leads_to, *links.loads):
            parts = urlsplit(link)
            if parts.scheme or not parts.path or page.name == "404.html":
                continue
            target = (page.parent / unquote(parts.path)).resolve()
            if not target.exists():
                missing.append(f"{page.relative_to(site)}: {link}")
    assert missing == []


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = [f"{page.name}: {one}" for page, links in pages(site).items() for one in links.loads if "//" in one]
    assert loaded == []
    styles = [path for path in site.rglob("*.css") if re.search(r"(?:url\(|@import)\s*[\"']?https?:", path.read_text())]
    assert styles == []


@pytest.mark.slow
def test_readmes_and_both_languages_are_there(site: Path) -> None:
    for name, words in (("index.html", "all pages"), ("index.zh.html", "全部页面"), ("readme.zh.html", "示例的一天")):
        assert words in (site / name).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_page_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# One\n\n[gone](gone.md) and [no such part](#nowhere)\n")
    text = f"site_name: x\nhooks: [{ROOT / 'deploy/docs/hooks.py'}]\nvalidation: {{anchors: warn}}\nnav: [index.md]\n"
    (tmp_path / "mkdocs.yml").write_text(text)
    done = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "gone.md" in said
    assert "#nowhere" in said
