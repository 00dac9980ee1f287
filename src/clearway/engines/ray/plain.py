"""What comes from a cluster is read as plain values: who may run a task there must not run anything here.

Ray pickles what its workers answer, its errors and the classes of its actors, and reads them with `pickle`, which does
what they say. Every program on a cluster can answer in the place of ours. So Ray is given a reader here that makes
nothing but plain values and errors, and our own class where it asks for that of an actor.
"""

from __future__ import annotations

import builtins
import io
import pickle
from typing import TYPE_CHECKING, Any

import ray
from ray import exceptions
from ray._private import function_manager, serialization
from ray.util.placement_group import PlacementGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

LOAD, LOAD_OF_SERVER = "_load_actor_class_from_gcs", "_init_class_info"
"""Ray's methods that ask the cluster which methods an actor has."""


class Reader(pickle.Unpickler):
    """Reads plain values, and errors of Python and Ray."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401  as it has to be
        """Return an error by its name. Raises UnpicklingError for all else."""
        return found(module, name)


def found(module: str, name: str) -> type[BaseException]:
    """Return an error of Python or of Ray by its name. Raises UnpicklingError where it is something else."""
    place = {"builtins": builtins, exceptions.__name__: exceptions}.get(module)
    one = vars(place).get(name) if place is not None else None
    if isinstance(one, type) and issubclass(one, BaseException):
        return one
    raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


class Pickle:
    """The module that Ray pickles with, which reads plain values alone."""

    def __init__(self, whole: Any) -> None:  # noqa: ANN401  a module
        self._whole = whole

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever that module has
        """Return what the module has."""
        return getattr(self._whole, name)

    @staticmethod
    def loads(data: bytes, buffers: Iterable[Any] = ()) -> Any:  # noqa: ANN401  a plain value
        """Return a plain value or an error. Raises UnpicklingError for all else."""
        return Reader(io.BytesIO(data), buffers=buffers).load()


def only_plain(actor: type) -> None:
    """Have Ray read plain values alone in this process; whatever an actor is, it has the methods of this class."""
    for module in (serialization, exceptions, function_manager):
        words = vars(module)
        words["pickle"] = Pickle(words["pickle"])
    ours = vars(ray.remote(actor))["__ray_metadata__"].modified_class
    setattr(function_manager.FunctionActorManager, LOAD, lambda *_: ours)


def only_plain_of_server(actor: type) -> None:
    """Have Ray read the same from a server of `ray://`, and the names that it gives to what it keeps."""
    from ray.util.client import client_pickler, common, worker  # noqa: PLC0415  they need `grpc`, which may not be there

    names = (client_pickler.PickleStub, PlacementGroup, ray.PlacementGroupID)
    kept = {(one.__module__, one.__qualname__): one for one in names}

    def find_class(_reader: object, module: str, name: str) -> Any:  # noqa: ANN401  as it has to be
        return kept.get((module, name)) or found(module, name)

    def learn(handle: Any) -> None:  # noqa: ANN401  an actor
        common.ClientActorHandle.__init__(handle, handle.actor_ref, common.ClientActorClass(actor))

    words = vars(worker)
    words["cloudpickle"] = Pickle(words["cloudpickle"])
    setattr(client_pickler.ServerUnpickler, find_class.__name__, find_class)
    setattr(common.ClientActorHandle, LOAD_OF_SERVER, learn)
