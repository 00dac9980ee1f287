"""What the site does with the pages: it takes the READMEs along, and names what lies outside without a link."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent.parent
TAKEN_ALONG = {"README.md": "readme.md", "README.zh.md": "readme.zh.md"}
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the READMEs, as if they lay among the pages."""
    for source, name in TAKEN_ALONG.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Have links lead to pages of the site; what is no page becomes text."""
    docs, source = Path(config.docs_dir), page.file.src_uri
    own = {name: readme for readme, name in TAKEN_ALONG.items()}
    at = ROOT if source in own else (docs / source).parent

    def rewritten(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        if "://" in target or target.startswith(("#", "mailto:")):
            return found[0]
        path, hash_, anchor = target.partition("#")
        place = (at / path).resolve()
        if place.is_dir() and (place / "README.md").is_file():
            place /= "README.md"
        name = _name_of(place, docs)
        if name is None:
            return text  # code, an example: it is no page
        return f"[{text}]({_relative(name, source)}{hash_}{anchor})"

    return _outside_of_code(markdown, rewritten)


def _name_of(place: Path, docs: Path) -> str | None:
    if place.is_relative_to(docs):
        return place.relative_to(docs).as_posix()
    return TAKEN_ALONG.get(place.relative_to(ROOT).as_posix()) if place.is_relative_to(ROOT) else None


def _relative(name: str, source: str) -> str:
    return "../" * source.count("/") + name


def _outside_of_code(markdown: str, rewritten: Callable[[re.Match[str]], str]) -> str:
    parts = re.split(r"(^```.*?^```[^\n]*$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if at % 2 else _LINK.sub(rewritten, part) for at, part in enumerate(parts))
