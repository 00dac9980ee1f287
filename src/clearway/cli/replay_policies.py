"""How a command line names policies: bundles, orders with what goes with them, maps of words, and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.model.errors import InputError
from clearway.policies.registry import BUNDLES, ORDERS, objectives, policy_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clearway.model.fleet import PolicySpec

BACKFILLS = ("easy", "none", "conservative")
ORACLE = "oracle"
FILE_ENDINGS = (".yaml", ".yml", ".json")


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
    """Return one policy and its label.

    `fair` is a bundle; `fifo` an order, with EASY backfill; `fifo+none`, `priority+fifo+easy+oracle` say what goes
    with it; `{order: [fifo], backfill: none}` is a map of words; `mine.yaml` a file with such a map.
    """
    if word in BUNDLES:
        return word, policy_named(word)
    if word.startswith("{"):
        return word, policy_named(_map(word, "policy"))
    if word.endswith(FILE_ENDINGS):
        path = Path(word)
        return path.stem, policy_named(_file(path))
    return word, policy_named(_short(word))


def _split(text: str) -> Iterator[str]:
    """Split at commas; a map of words has commas of its own, so it stands alone."""
    if text.lstrip().startswith("{"):
        yield text.strip()
        return
    for part in text.split(","):
        if part.strip():
            yield part.strip()


def _short(word: str) -> dict[str, object]:
    parts = word.split("+")
    orders = [p for p in parts if p in ORDERS]
    backfills = [p for p in parts if p in BACKFILLS]
    if not orders or len(backfills) > 1 or any(p not in (*orders, *backfills, ORACLE) for p in parts):
        raise InputError("policy", word, _RULE)
    estimate = {"estimate": ORACLE} if ORACLE in parts else {}
    return {"order": orders, "backfill": backfills[0] if backfills else "easy", **estimate}


_RULE = (
    f"a bundle ({', '.join(sorted(BUNDLES))}); or orders ({', '.join(sorted(ORDERS))}) joined by +, with one of "
    f"{', '.join(BACKFILLS)} and {ORACLE}, such as fifo+none; or a map of words; or a YAML file"
)


def _map(text: str, place: str) -> dict[str, Any]:
    from clearway.config.yaml_file import parse_yaml

    raw = parse_yaml(text, place)
    if not isinstance(raw, dict):
        raise InputError("policy", text, "a map of words", place)
    return raw


def _file(path: Path) -> dict[str, Any] | str:
    from clearway.config.yaml_file import read_text

    raw = _map(read_text(path, "policy"), str(path))
    inner = raw.get("policy", raw)
    if not isinstance(inner, dict | str):
        raise InputError("policy", inner, "a bundle or a map of words", str(path))
    return inner
