"""What the client asks about the past: each is answered by a process of its own beside the controller."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

    from clearway.sdk.transport import Transport

Row = dict[str, Any]


class Past:
    """The part of a client that asks about the past."""

    _transport: Transport

    def report(self, since: str = "30d", until: str | None = None, by: str = "queue") -> Row:
        """Return accounts of a time by `tenant`, `user` or `queue`; moments in ISO 8601, or so long ago: 30d."""
        return self._asked("report", {"since": since, "until": until, "by": by})

    def load_ahead(self, queue: str | None = None, since: str = "30d") -> Row:
        """Forecast arrivals and GPUs in use, of a queue or of all, by what has been since then."""
        return self._asked("load", {"queue": queue, "since": since})

    def forecasts(self, since: str = "30d", by: str = "queue", *, starts: bool = False) -> Row:
        """Judge forecasts made since then: run times beside what came, and with `starts` ETAs, too."""
        return self._asked("forecasts", {"since": since, "by": by, "starts": starts})

    def cycle(self, number: int) -> Row:
        """Return one cycle whole, decided again."""
        return self._asked(f"cycles/{int(number)}", {})

    def cycle_of(self, ref: str) -> Row:
        """Return the cycle whole in which a job started last."""
        return self._asked(self._path("jobs", ref, "cycle"), {})

    def why_then(self, ref: str, at: str, *, brief: bool = False) -> Row:
        """Return why a job waited, ran or was over at a moment in ISO 8601; not `brief`: and what would change it."""
        return self._asked(self._path("jobs", ref, "then"), {"at": at, "brief": brief})

    def audit(self, start: str | None = None, end: str | None = None, cycle: int | None = None) -> Row:
        """Have what the journal records decided again; return how much, and the first plan that differs."""
        return self._asked("audit", {"from": start, "to": end, "cycle": cycle})

    def check_journal(self) -> Row:
        """Have the whole journal read; return what is wrong in `faults`."""
        return self._asked("journal/check", {})

    def history(self, file: BinaryIO, *, compressed: bool = False) -> Row:
        """Write the jobs that are over to a workload file; return how many they are, and how many are not over."""
        return self._fetched("history", {"compressed": compressed}, file)

    def backup(self, file: BinaryIO) -> Row:
        """Write a copy of the journal, an SQLite database; return the number of its last record."""
        return self._fetched("journal/backup", {}, file)

    def bundle(self, file: BinaryIO) -> Row:
        """Write an archive of what happened, without secrets; return what is in it."""
        return self._fetched("journal/bundle", {}, file)

    def whatifs(self) -> list[Row]:
        """Return the what-ifs that the controller keeps or works on, the newest first."""
        rows: list[Row] = self._transport.call("GET", "whatifs")["whatifs"]
        return rows

    def ask_whatif(self, words: Mapping[str, object]) -> Row:
        """Have the controller work out a what-if: `policy`, `fleet`, `queues`, `limits`, ..; return its row."""
        from clearway.sdk.encode import encode_words

        row: Row = self._transport.call("POST", "whatifs", body=encode_words(words))
        return row

    def whatif(self, number: int) -> Row:
        """Return a what-if with its `answer`, None where it is still worked on or has failed."""
        row: Row = self._transport.call("GET", f"whatifs/{int(number)}")
        return row

    def whatif_page(self, number: int, file: BinaryIO) -> Row:
        """Write the answer of a what-if as a page with plots that needs nothing else."""
        return self._fetched(f"whatifs/{int(number)}/page", {}, file)

    def remove_whatif(self, number: int) -> Row:
        """Have the controller forget a what-if, or stop working on it."""
        row: Row = self._transport.call("POST", f"whatifs/{int(number)}/remove")
        return row

    def _asked(self, path: str, query: Mapping[str, object]) -> Row:
        answer: Row = json.loads(b"".join(self._transport.stream(path, query)))
        return answer

    def _fetched(self, path: str, query: Mapping[str, object], file: BinaryIO) -> Row:
        about: Row = {}
        file.writelines(self._transport.stream(path, query, about))
        return about

    @staticmethod
    def _path(*parts: str) -> str:
        from urllib.parse import quote

        return "/".join(quote(str(part), safe="") for part in parts)
