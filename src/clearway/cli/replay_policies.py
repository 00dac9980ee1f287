"""How a command line names policies: bundles, orders with what goes with them, maps of words, and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.model.errors import InputError
from clearway.policies.registry import objectives, policy_named
from clearway.whatif.words import named, policy_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.model.fleet import PolicySpec

FILE_ENDINGS = (".yaml", ".yml", ".json")
FILES = "; or a YAML file"


def policies(given: Iterable[str]) -> list[tuple[str, PolicySpec]]:
    """Return the policies of `--policy` options, each with its own label. Raises InputError for an unknown word.

    One that weighs several orders is followed by each of them alone: what the others cost it is seen beside it.
    """
    found: dict[str, PolicySpec] = {}
    for text in given:
        for word in _split(text):
            label, spec = one(word)
            for name, policy in ((label, spec), *((f"{order} alone", p) for order, p in objectives(spec))):
                unique = name
                while unique in found:
                    unique += "'"
                found[unique] = policy
    return list(found.items())


def one(word: str) -> tuple[str, PolicySpec]:
    """Return one policy and its label: `mine.yaml` is a file with a map of words, all else as `named` says."""
    if word.endswith(FILE_ENDINGS):
        path = Path(word)
        return path.stem, policy_named(file_words(path))
    return named(word, FILES)


def _split(text: str) -> Iterator[str]:
    """Split at commas; a map of words has commas of its own, so it stands alone."""
    if text.lstrip().startswith("{"):
        yield text.strip()
        return
    for part in text.split(","):
        if part.strip():
            yield part.strip()


def file_words(path: Path) -> dict[str, Any] | str:
    """Return the words of a policy that stand in a file."""
    from clearway.config.yaml_file import read_text

    raw = policy_map(read_text(path, "policy"), str(path))
    inner = raw.get("policy", raw)
    if not isinstance(inner, dict | str):
        raise InputError("policy", inner, "a bundle or a map of words", str(path))
    return inner
