"""What went wrong in a workflow, found deep inside it."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def culprit(row: Row) -> Row | None:
    """Return the job for which a workflow (or one inside it) failed, the first of several; None: it was no job's."""
    for step in row["steps"]:
        if step["state"] != "failed":
            continue
        if step["job"] is not None:
            job: Row = step["job"]
            return job
        if step["inner"] is not None and (found := culprit(step["inner"])) is not None:
            return found
    return None
