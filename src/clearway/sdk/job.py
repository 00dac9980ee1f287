"""A submitted job, as Python holds it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from clearway.sdk.client import TERMINAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clearway.sdk.client import Client


class Job:
    """A job of a controller. It asks the controller each time; nothing is remembered but its number."""

    def __init__(self, client: Client, number: int, name: str, warnings: tuple[str, ...] = ()) -> None:
        """Hold job `number` of the controller behind `client`."""
        self._client, self.id, self.name, self.warnings = client, number, name, warnings

    @classmethod
    def submit(cls, client: Client, words: Mapping[str, object]) -> Job:
        """Submit one job and return it. Without `workdir` it runs in the present directory."""
        (entered,) = client.submit([{"workdir": os.getcwd(), **words}])  # noqa: PTH109  a text, not a path
        return cls(client, entered["id"], entered["name"], tuple(entered["warnings"]))

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.name!r}>"

    @property
    def row(self) -> dict[str, Any]:
        """What a list of jobs shows of it now."""
        return self._client.job(self._ref)

    @property
    def state(self) -> str:
        """Its state now: pending, running, succeeded, failed, cancelled or refused."""
        return str(self.row["state"])

    def wait(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Return its row once it is over. Raises TimeoutError if it is not after `timeout_s` seconds."""
        row = self._client.wait(self._ref, timeout_s)
        if row["state"] not in TERMINAL:
            raise TimeoutError(f"job {self.name!r} is {row['state']} after {timeout_s:g} s")
        return row

    def logs(
        self, task: int = 0, attempt: int | None = None, stream: str = "stdout", *, follow: bool = False
    ) -> Iterator[bytes]:
        """Yield what a task wrote; with `follow` until it is over."""
        return self._client.logs(self._ref, task, attempt, stream, follow=follow)

    def why(self) -> dict[str, Any]:
        """Return why it waits, started or ended: codes, facts and sentences."""
        return self._client.why(self._ref)

    def cancel(self) -> dict[str, Any]:
        """End it."""
        return self._client.cancel(self._ref)

    @property
    def _ref(self) -> str:
        return f"id:{self.id}"
