"""Ids are types, so that a job's number is never taken for a node's."""

from __future__ import annotations

from typing import NewType

JobId = NewType("JobId", int)
"""A job's number: dense, in order of entry, never used again."""

NodeId = NewType("NodeId", int)
"""A node's number, which is also its slot in the ledger's columns; never used again."""

FlowId = NewType("FlowId", int)
"""A workflow's number: dense, in order of entry, never used again."""

ClassId = NewType("ClassId", int)
"""A class of waiting jobs that are equal in all that decides whether they can start."""
