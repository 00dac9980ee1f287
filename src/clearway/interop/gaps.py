"""What an import could not tell or left out: each with its count, the first few bad rows named one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearway.model.errors import InputError

NAMED_ROWS = 5


@dataclass
class Gaps:
    """Rows left out by reason, bad rows, what was assumed of how many jobs, and what the source as a whole lacks."""

    left: dict[str, int] = field(default_factory=dict)
    bad: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)
    rules: dict[tuple[str, str], int] = field(default_factory=dict)
    assumed: dict[str, int] = field(default_factory=dict)
    lacks: dict[str, None] = field(default_factory=dict)

    def leave(self, why: str, rows: int = 1) -> None:
        """Count rows that are no job to be replayed."""
        self.left[why] = self.left.get(why, 0) + rows

    def refuse(self, line: int, error: InputError) -> None:
        """Count a bad row by the field and the rule that it breaks; the first few are kept whole."""
        self.bad += 1
        key = (error.field[:80], error.rule[:200])
        self.rules[key] = self.rules.get(key, 0) + 1
        if len(self.first) < NAMED_ROWS:
            self.first.append((line, f"{error.field}: {error.value} is refused: {error.rule}"))

    def assume(self, what: str) -> None:
        """Count a job of which something was assumed."""
        self.assumed[what] = self.assumed.get(what, 0) + 1

    def lack(self, what: str) -> None:
        """Note what no row of the source tells."""
        self.lacks[what] = None

    def sentences(self) -> list[str]:
        """Return what a person is told."""
        said = [f"left out: {why}: {count:,}" for why, count in self.left.items()]
        if self.bad:
            said.append(f"left out: bad rows: {self.bad:,}")
            said += [f"  line {line}: {what}" for line, what in self.first]
            said += [f"  {name}: {rule}: {count:,} in all" for (name, rule), count in self.rules.items() if count > 1]
        said += [f"of {count:,} job{'' if count == 1 else 's'}: {what}" for what, count in self.assumed.items()]
        return [*said, *(f"not told by the source: {what}" for what in self.lacks)]

    def document(self) -> dict[str, Any]:
        """Return the same for programs."""
        return {
            "left_out": dict(self.left),
            "bad_rows": self.bad,
            "first_bad_rows": [{"line": line, "error": what} for line, what in self.first],
            "bad_by_rule": [{"field": f, "rule": rule, "rows": n} for (f, rule), n in self.rules.items()],
            "assumed": dict(self.assumed),
            "not_told": list(self.lacks),
        }
