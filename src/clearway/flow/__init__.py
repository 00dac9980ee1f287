"""Workflows, schedules and searches: what follows from what happened. Pure: it says which jobs are next."""

from __future__ import annotations

import sys
from types import ModuleType


class _Room(ModuleType):
    def __call__(self, *_: object, **__: object) -> object:
        """Say where the decorator is that somebody took this for."""
        raise TypeError("clearway.flow is a part of the program; the decorator: from clearway.sdk.flows import flow")


sys.modules[__name__].__class__ = _Room
