"""How the word `runtime_env` is read: what Ray makes ready on a node before a task starts there, in Ray's own words."""

from __future__ import annotations

import json
from typing import NamedTuple

from clearway.model import values as v
from clearway.model.errors import InputError, UnknownWordError

_PLAIN = ("env_vars", "working_dir", "py_modules")
_PACKAGES = ("pip", "uv", "conda")
_OWN = ("nsight", "image_uri")
_HERE = "a folder is taken along by the command line and the Python client where the job is submitted"
KNOWN = (*_PLAIN, *_PACKAGES, "config")
"""What of Ray's words is passed on. The others say something about Ray's own worker, in which no task runs."""


class RuntimeEnv(NamedTuple):
    """Variables, which are those of the job, and the rest as JSON, "" where there is none."""

    variables: tuple[tuple[str, str], ...] = ()
    text: str = ""


def read_runtime_env(field: str, value: object) -> RuntimeEnv:
    """Read a runtime environment. Raises InputError."""
    if not isinstance(value, dict):
        raise InputError(field, "(not shown)", f"a map of {', '.join(KNOWN)}")
    for key in value:
        if key == "excludes":
            raise InputError(f"{field}.excludes", value[key], f"none without folders: {_HERE}")
        if key in _OWN:
            rule = f"none of it: tasks run beside Ray's worker; {', '.join(KNOWN)} work"
            raise InputError(f"{field}.{key}", value[key], rule)
        if key not in KNOWN:
            raise UnknownWordError.of(str(key), set(KNOWN), field)
    rest = {key: _plain(f"{field}.{key}", key, said) for key, said in value.items() if key != "env_vars"}
    rest = {key: said for key, said in rest.items() if said}
    return RuntimeEnv(_variables(field, value.get("env_vars")), json.dumps(rest, sort_keys=True) if rest else "")


def is_folder(place: object) -> bool:
    """Say whether a place is a folder of whoever says it, and no address from which nodes can get it."""
    return isinstance(place, str) and "://" not in place


def _variables(field: str, value: object) -> tuple[tuple[str, str], ...]:
    try:
        return v.pairs(f"{field}.env_vars", value) if value else ()
    except InputError as error:
        raise InputError(f"{field}.env_vars", "(not shown)", error.rule) from None  # it may be a secret


def _plain(field: str, key: str, value: object) -> object:
    if key == "working_dir":
        if is_folder(value):
            raise InputError(field, value, f"an address (https://, s3://, gs://, ..zip); {_HERE}")
        return v.text(field, value)
    if key == "py_modules":
        for one in v.names(field, value):
            if is_folder(one):
                raise InputError(field, one, f"addresses (https://, s3://, gs://, ..zip); {_HERE}")
        return list(v.names(field, value))
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(field, "(not shown)", "lists, maps, texts and numbers alone") from error
