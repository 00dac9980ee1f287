"""The settings of engines beyond this machine: each engine has a word of its own name, with its own words below."""

from __future__ import annotations

import os
import re

import msgspec

from clearway.model import values as v
from clearway.model.errors import InputError
from clearway.model.words import Word, read_words

ENGINES = ("local", "ray", "slurm")
"""What the setting `engine` may say; `compose.engines` knows how each is made."""

MOST_JOBS = 2**31 - 1
_ADDRESS = re.compile(r"(ray://)?[^/\s]+:\d+|auto|start")


class Ray(msgspec.Struct, frozen=True):
    """Which Ray cluster is used, as `ray.init` says it.

    `address`: HOST:PORT of its head, ray://HOST:PORT of its client server, or `auto`: the one that runs on this
    machine. With `start` one is started there where none runs; it is not ended.
    """

    address: str = "auto"


class Slurm(msgspec.Struct, frozen=True):
    """What of a Slurm cluster is used. Empty is what Slurm takes by itself.

    `pending_us`: a task that Slurm does not start within so many microseconds is taken back and placed anew. `within`:
    the number of a job of Slurm whose steps all tasks are, "" where each is a job of its own.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    pending_us: int = 60_000_000
    within: str = ""


def _within(field: str, value: object) -> str:
    if value == "own":
        if not (found := os.environ.get("SLURM_JOB_ID", "")):
            raise InputError(field, value, "own only inside a job of Slurm (SLURM_JOB_ID is not set)")
        return found
    return str(v.count(field, value, 1, MOST_JOBS))


def _address(field: str, value: object) -> str:
    if not _ADDRESS.fullmatch(found := v.text(field, value)):
        raise InputError(field, value, "HOST:PORT, ray://HOST:PORT, `auto` or `start`")
    return found


RAY_WORDS = {"address": Word(_address, "text", "HOST:PORT of its head, ray://HOST:PORT, `auto` or `start` [auto]")}

SLURM_WORDS = {
    "partition": Word(v.name, "text", "only the nodes of this one [all]"),
    "account": Word(v.name, "text", "whom Slurm charges [its default]"),
    "qos": Word(v.name, "text", "quality of service [its default]"),
    "pending": Word(v.duration, "text", "a task that Slurm does not start within this time is placed anew [60s]"),
    "within": Word(_within, "number", "tasks are steps inside this job; `own`: the one that the controller runs in"),
}


def read_ray(field: str, value: object) -> Ray:
    """Read the words of the engine `ray`."""
    return Ray(**read_words(field, value, RAY_WORDS))


def read_slurm(field: str, value: object) -> Slurm:
    """Read the words of the engine `slurm`."""
    found = read_words(field, value, SLURM_WORDS)
    return Slurm(**{"pending_us" if word == "pending" else word: said for word, said in found.items()})
