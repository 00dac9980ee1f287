"""`clearway queue set`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from clearway.cli.job_options import number_or_text, word_option
from clearway.cli.queues import show_queues
from clearway.cli.shell import Shell, command, group
from clearway.model.errors import InputError
from clearway.model.machine_words import QUEUE_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clearway.model.words import Word

NONE = "none"


@group("queue")
def queue_command() -> None:
    """Create a queue or change one: clearway queue set NAME. They are listed by clearway queues."""


def _queue_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for name in reversed([word for word in QUEUE_WORDS if word != "name"]):
        function = word_option(name, QUEUE_WORDS[name])(function)
    return function


@command("set")
@click.argument("name", metavar="NAME")
@_queue_options
def _set(shell: Shell, name: str, **options: Any) -> None:  # noqa: ANN401 - one option for each word of a queue
    """Create the queue NAME, or change the words of it that are given; the others stay as they are.

    An amount is RESOURCE=NUMBER, as in --limit gpus=16,memory=1TiB; such an option says the whole word anew, and
    `none` empties it.
    """
    given = {word: value for word, value in options.items() if value is not None and value != ()}
    words = {word: _typed(word, QUEUE_WORDS[word], value) for word, value in given.items()}
    row = shell.client().change_queue(name, words)
    if shell.as_json:
        shell.document(row)
    else:
        show_queues([row])


def _typed(name: str, word: Word, value: Any) -> object:  # noqa: ANN401 - whatever click gathered
    if word.shape == "map":
        return _amounts(name, value)
    if word.shape == "names":
        return [part for text in value for part in text.split(",")]
    if word.shape == "nested":
        from clearway.config.yaml_file import parse_yaml

        return parse_yaml(value, f"--{name}")
    return number_or_text(value) if word.shape == "number" else value


def _amounts(name: str, texts: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in (part for whole in texts if whole != NONE for part in whole.split(",")):
        key, equals, value = text.partition("=")
        if not (equals and key):
            raise InputError(name, text, "RESOURCE=NUMBER, or none")
        found[key] = number_or_text(value)
    return found


queue_command.add_command(_set)
