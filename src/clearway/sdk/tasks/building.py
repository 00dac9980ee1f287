"""Whether a workflow is being built here: then a call of a task is a step of it, and runs nothing."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

BUILDING: ContextVar[Any] = ContextVar("clearway_building", default=None)
""" A `clearway.sdk.flows.build.Builder`, None where nothing is built."""
