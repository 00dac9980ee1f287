"""How the word `secrets` is read: names of variables that a job gets, whose values nobody says here."""

from __future__ import annotations

import re

from clearway.model import values as v
from clearway.model.errors import InputError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_OURS = "CLEARWAY_"
TAKEN = frozenset({"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"})
"""What every task is told in variables of its own."""

_RULE = "letters, digits and _, not a digit first, at most 255, and none that Clearway itself sets"


def secret_name(field: str, value: object) -> str:
    """Return the name of a secret, which is that of the variable too."""
    if not isinstance(value, str) or not _NAME.fullmatch(value) or value.startswith(_OURS) or value in TAKEN:
        plausible = isinstance(value, str) and _NAME.fullmatch(value)  # anything else may be a value by mistake
        raise InputError(field, value if plausible else "(not shown)", _RULE)
    return value


def read_secrets(field: str, value: object) -> tuple[str, ...]:
    """Read names of secrets; each counts once."""
    try:
        names = v.names(field, value)
    except InputError as error:
        raise InputError(field, "(not shown)", error.rule) from None
    return tuple(secret_name(field, name) for name in names)


def check_secrets(secrets: tuple[str, ...], env: tuple[tuple[str, str], ...]) -> None:
    """Raise InputError for a variable that is to come from a secret and from `env`."""
    for name, _ in env:
        if name in secrets:
            raise InputError("secrets", name, "a variable that `env` does not set too")
