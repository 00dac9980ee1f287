"""The models of load that are there: those that need nothing, those of installed extras, and those of others.

A package of others names its model under the entry point `clearway.load_models`: a callable without arguments that
returns a `clearway.forecast.load.models.LoadModel`.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING

from clearway.forecast.load.models import MODELS
from clearway.forecast.load.walk import MIDDLE
from clearway.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.forecast.load.models import LoadModel

GROUP = "clearway.load_models"


def load_models(*, networks: bool = False) -> tuple[LoadModel, ...]:
    """Return every model; neural networks, which take a minute for a series, only where they are wanted.

    Raises InputError for one of others that has a name that is taken.
    """
    found = list(MODELS)
    if find_spec("lightgbm") is not None:
        from clearway.learn.load_boosted import Boosted

        found.append(Boosted())
    if networks and find_spec("torch") is not None:
        from clearway.learn.load_networks import lstm, transformer

        found += [lstm(), transformer()]
    taken = {model.name for model in found} | {MIDDLE}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        make: Callable[[], LoadModel] = point.load()
        model = make()
        if model.name in taken:
            raise InputError(GROUP, point.value, f"a model with a name of its own; {model.name!r} is taken")
        taken.add(model.name)
        found.append(model)
    return tuple(found)
