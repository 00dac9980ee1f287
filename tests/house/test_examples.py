"""What pages about examples tell people to write is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "examples").rglob("README.md"))
ROWS = [(page, row) for page in PAGES for row in page.read_text().splitlines() if "python -m examples" in row]


@pytest.mark.parametrize(("page", "row"), ROWS)
def test_an_example_has_the_options_that_are_named_beside_it(page: Path, row: str) -> None:
    for module in re.findall(r"python -m (examples[.\w]*)", row):
        path = ROOT.joinpath(*module.split("."))
        sources = [path.with_suffix(".py")] if path.with_suffix(".py").exists() else sorted(path.glob("*.py"))
        assert sources, f"{page}: {module}"
    options = re.findall(r"--[a-z]+", row)
    text = "".join(source.read_text() for source in sources)
    assert [option for option in options if f'"{option}"' not in text] == [], page
