"""What a job is thought to need, as a document and as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearway.model.reasons import Code
from clearway.model.values import MILLI
from clearway.observe.amounts import thousandths
from clearway.observe.facts import escaped

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.model.needs import Need
    from clearway.observe.facts import Facts

MANY = 20
"""Of fewer runs 95 in 100 are all of them."""
_UNITS = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_SIZES = ("memory", "gpu_memory")
_CALLED = {"memory": "memory", "gpu_memory": "GPU memory"}


def need_row(need: Need) -> dict[str, Any]:
    """Return a need in the units of docs/job.md, with its sentence."""
    return {
        "role": need.role,
        "word": need.word,
        "asked": _plain(need.word, need.asked),
        "enough": _plain(need.word, need.enough),
        "most": _plain(need.word, need.most),
        "runs": need.runs,
        "basis": need.basis,
        "out_of_memory": need.ooms,
        "applied": need.applied,
        "text": need_sentence(need),
    }


def _plain(word: str, amount: int) -> float:
    if word != "cpus":
        return amount
    return amount // MILLI if amount % MILLI == 0 else amount / MILLI


def need_sentence(need: Need) -> str:
    """Return a need as a sentence without a full stop: what is asked for, what such runs took, what would do."""
    word, asked, enough = _named(need), amount(need.word, need.asked), amount(need.word, need.enough)
    if need.applied:
        return f"{word}: {enough} ({asked} asked); {_took(need)}"
    if need.word == "gpus":
        return f"{word}: {asked} asked; {_took(need)}"
    if need.enough > need.asked:
        why = _ran_out(need) if need.ooms else _took(need)
        return f"{word}: {asked} asked; {why}; {enough} suggested"
    return f"{word}: {asked} asked; {_took(need)}; {enough} would do"


def _ran_short(f: Facts) -> str:
    word = str(f.reason.get("word", "memory"))
    had, asked = amount(word, f.number("had")), amount(word, f.number("asked"))
    again = f"it is tried again with the {asked} that it asks for, which counts as no failure of its own"
    return f"ran out of {_CALLED.get(word, word)} with the {had} that it was given; {again}"


def _named(need: Need) -> str:
    return need.word if need.role == "task" else f"{need.word} in role {escaped(need.role)}"


def _took(need: Need) -> str:
    which = f"95 in 100 of the last {need.runs} {need.basis}" if need.runs >= MANY else f"the last {_runs(need)}"
    did = "put to work" if need.word == "gpus" else "took"
    return f"{which} {did} at most {amount(need.word, need.most)}"


def _runs(need: Need) -> str:
    return need.basis.replace("runs", "run", 1) if need.runs == 1 else f"{need.runs} {need.basis}"


def _ran_out(need: Need) -> str:
    times = "once" if need.ooms == 1 else f"{need.ooms} times"
    return f"{need.basis} ran out of memory {times} with so much"


def amount(word: str, value: int) -> str:
    """Return an amount of a word as people read it: sizes to a tenth of their unit."""
    if word == "cpus":
        return thousandths(value)
    if word not in _SIZES:
        return str(value)
    for unit, factor in _UNITS:
        if value >= factor:
            tenths = -(-value * 10 // factor)
            return f"{tenths // 10} {unit}" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10} {unit}"
    return f"{value} bytes"


SENTENCES: dict[Code, Callable[[Facts], str]] = {Code.RAN_SHORT: _ran_short}
