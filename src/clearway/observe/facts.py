"""The facts of a reason, as sentences read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clearway.observe import amounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearway.model.reasons import Reason


class Facts(NamedTuple):
    """The facts of one reason, read by type; `moment` puts a time of the driver's clock into words."""

    reason: Reason
    moment: Callable[[int], str]

    def has(self, key: str) -> bool:
        """Whether the fact is there."""
        return any(k == key for k, _ in self.reason.facts)

    def number(self, key: str) -> int:
        """Return a fact that is a number; 0 where it is missing."""
        value = self.reason.get(key, 0)
        return value if isinstance(value, int) else 0

    def name(self, key: str, missing: str = "?") -> str:
        """Return a fact that is a name, with unprintable characters escaped."""
        return escaped(str(self.reason.get(key, missing)))

    def time(self, key: str) -> str:
        """Return a fact that is a moment, in words."""
        return self.moment(self.number(key))

    def span(self, key: str) -> str:
        """Return a fact that is a duration, in words."""
        return amounts.duration(self.number(key))


def escaped(text: str) -> str:
    """Return a name that is safe to show: control characters and the like as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
