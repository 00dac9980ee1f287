"""What is published works anywhere: no machine's own paths, no registry's address, no key."""

from __future__ import annotations

import re

import pytest

from tests.house.code import ROOT, short, tracked

TEXT_LIMIT_BYTES = 5_000_000
PATTERNS = {
    "a path of one machine": re.compile(r"(?<![\w.~$}])/(?:work|root|Users|workspace)/[\w.]"),
    "the address of a registry": re.compile(
        r"python[h]osted|py[p]i\.|npm[j]s|--(?:extra-)?index-url|--trusted-host|--find-links"
    ),
    "a private key or token": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|\bghp_\w{20}|\bsk-\w{20}"),
}
SELF = "tests/house/test_addresses.py"


@pytest.mark.parametrize("kind", PATTERNS)
def test_no_file_holds(kind: str) -> None:
    found = []
    for path in tracked():
        if short(path) == SELF or path.stat().st_size > TEXT_LIMIT_BYTES:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if PATTERNS[kind].search(line):
                found.append(f"{short(path)}:{number} {line.strip()[:80]}")
    assert found == []


def test_the_patterns_find_what_they_look_for() -> None:
    for words in ("see /|root/x", "'/|work/main'", "--index-url x", "py|pi.org", "-----BEGIN PRIVATE KEY"):
        line = words.replace("|", "")  # cut, so that nobody who looks for such lines finds them here
        assert any(pattern.search(line) for pattern in PATTERNS.values()), line
    for line in ("--no-emit-index-url", "~/.local/state", "$HOME/work/x", "src/work/x", "a/root/x"):
        assert not any(pattern.search(line) for pattern in PATTERNS.values()), line


def test_requirements_are_pinned_with_hashes() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        lines = [line for line in (ROOT / name).read_text().splitlines() if line and line[0] not in "# "]
        assert lines
        assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+ \\", line)] == []


def test_what_runs_is_pinned_the_same_for_developers() -> None:
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^([\w.-]+==[\w.]+)", (ROOT / name).read_text(), re.MULTILINE))

    assert pins("requirements.txt") <= pins("requirements-dev.txt")
