"""The words of a job as options of a command line, made from the one table of words."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.model import values
from clearway.model.errors import InputError
from clearway.model.words import JOB_WORDS, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_NUMBER_TOO = (values.duration, values.size)  # words whose text may be a bare number: seconds, bytes
_UNITS: dict[Callable[[str, object], Any], str] = {
    values.size: "e.g. 10GiB, 40GB; a plain number is bytes",
    values.duration: "e.g. 30s, 10m, 1h30m; a plain number is seconds",
}
_METAVAR = {"text": "TEXT", "number": "NUMBER", "names": "NAME[,NAME..]", "map": "KEY=VALUE", "nested": "YAML"}
_OTHERWISE_GIVEN = frozenset({"run"})  # the command itself stands after the options

SEARCH_VARIABLES = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "LD_LIBRARY_PATH")
"""Variables of the caller that a job gets too: they say where programs and libraries are found."""


def job_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command one option for each word of a job, in the order of the table."""
    for name in reversed([n for n in JOB_WORDS if n not in _OTHERWISE_GIVEN]):
        function = word_option(name, JOB_WORDS[name])(function)
    return function


def word_option(name: str, word: Word) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option of a word: a switch, or with a value of its shape."""
    flag = f"--{name.replace('_', '-')}"
    if word.shape == "flag":
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=word.help)
    units = f" ({_UNITS[word.read]})" if word.read in _UNITS else ""
    many = word.shape in ("names", "map")
    return click.option(flag, name, multiple=many, metavar=_METAVAR[word.shape], help=word.help + units)


def given_words(options: dict[str, Any]) -> dict[str, Any]:
    """Return the words of a job from the options that were given; raises InputError for what is no pair or no YAML."""
    found = {name: value for name, value in options.items() if value is not None and value != ()}
    return {name: _typed(name, JOB_WORDS[name], value) for name, value in found.items()}


def _typed(name: str, word: Word, value: Any) -> object:  # noqa: ANN401 - whatever click gathered
    if word.shape == "names":
        return [part for text in value for part in text.split(",")]
    if word.shape == "map":
        return _map(name, value, numbers=word.read is values.counts)
    if word.shape == "nested":
        return _nested(name, value)
    if word.shape == "number" or word.read in _NUMBER_TOO:
        return number_or_text(value)
    return value


def number_or_text(text: str) -> int | float | str:
    """Return the number that a text looks like, else the text itself, which the schema then refuses with its rule."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and math.isfinite(found := float(text)):
        return found
    return text


def _map(name: str, texts: Iterable[str], *, numbers: bool) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key):
            raise InputError(name, "(not shown)" if name == "env" else text, "KEY=VALUE")
        found[key] = number_or_text(value) if numbers else value
    return found


def _nested(name: str, text: str) -> object:
    from clearway.config.yaml_file import parse_yaml

    return parse_yaml(text, f"--{name}")


def at_this_place(words: dict[str, Any]) -> dict[str, Any]:
    """Return a job's words with what a person at a terminal expects: it runs here, and finds the same programs.

    Values of the wrong kind stay as they are, for the schema to refuse.
    """
    found = dict(words)
    workdir = words.get("workdir") or "."
    if isinstance(workdir, str):
        found["workdir"] = os.path.normpath(Path.cwd() / Path(workdir).expanduser())
    env = words.get("env") or {}
    if isinstance(env, dict):
        found["env"] = {**{k: os.environ[k] for k in SEARCH_VARIABLES if k in os.environ}, **env}
    return found
