"""Words of a job that not every engine has: one that an engine lacks is refused at submit, and by the engine itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.model.job import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clearway.model.job import Demand, JobSpec


class Lacked(NamedTuple):
    """A word of a job that an engine does not have, what the job says there, and what it may say."""

    word: str
    value: object
    rule: str

    def __str__(self) -> str:
        """Return the sentence with which an engine refuses it."""
        return f"{self.word}: {self.value!r} is refused: {self.rule}"


def _any(of: Callable[[Demand], object]) -> Callable[[JobSpec], object]:
    return lambda spec: next(filter(None, (of(role.demand) for role in spec.roles)), None)


OPTIONAL: Mapping[str, Callable[[JobSpec], object]] = {
    "image": lambda spec: spec.image,
    "venv": lambda spec: spec.venv,
    "runtime_env": lambda spec: spec.runtime_env,
    "gpus": _any(lambda demand: demand.share / WHOLE),
    "gpu_memory": _any(lambda demand: demand.gpu_memory if demand.one_device and not demand.share else 0),
    "colocate": _any(lambda demand: demand.colocate),
}
"""Each with what a job says of it, nothing where it does not: `gpus` below one device, `gpu_memory` without `gpus`."""


def lacked(spec: JobSpec, lacks: Mapping[str, str]) -> Lacked | None:
    """Return the first word of a job that an engine lacks; `lacks` is what `Engine.lacks` says."""
    for word, rule in lacks.items():
        if value := OPTIONAL[word](spec):
            return Lacked(word, value, rule)
    return None
