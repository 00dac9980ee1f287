"""What the client asks of policies: try one beside the one in force, promote it, take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clearway.sdk.transport import Transport

Row = dict[str, Any]


class Policies:
    """The part of a client that asks about policies."""

    _transport: Transport

    def policy(self) -> Row:
        """Return the policy in force and why it is, what is tried beside it, and the last changes."""
        row: Row = self._transport.call("GET", "policy")
        return row

    def compare_policies(self) -> Row:
        """Return what came of the candidate so far beside the policy in force, for the same jobs."""
        row: Row = self._transport.call("GET", "policy/comparison")
        return row

    def shadow(self, policy: str | Mapping[str, object], name: str | None = None) -> Row:
        """Have a policy, by name or as a map of words, decide beside the one in force without acting."""
        return self._changed("shadow", {"policy": policy, **({} if name is None else {"name": name})})

    def end_shadow(self) -> Row:
        """Have none decide beside the one in force any more; a guard ends with it."""
        return self._changed("shadow/end", {})

    def promote(self, words: Mapping[str, object] | None = None) -> Row:
        """Put the candidate in force, guarded by `bound` (percent), `least`, `jobs` and `for`."""
        return self._changed("promote", words or {})

    def rollback(self) -> Row:
        """Put the policy before the last promotion in force again."""
        return self._changed("rollback", {})

    def _changed(self, verb: str, words: Mapping[str, object]) -> Row:
        from clearway.sdk.encode import encode_words

        row: Row = self._transport.call("POST", f"policy/{verb}", body=encode_words(words))
        return row
