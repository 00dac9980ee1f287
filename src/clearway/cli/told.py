"""What a person is told about jobs that were submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clearway.cli.shell import Shell


def tell_submitted(shell: Shell, answers: Iterable[dict[str, Any]]) -> None:
    """Write a line for each job, and what its user should know about it."""
    for answer in answers:
        shell.line(f"job {answer['id']} ({answer['name']}) submitted")
        tell_warnings(shell, answer)


def tell_warnings(shell: Shell, answer: dict[str, Any]) -> None:
    """Write the warnings about a job to stderr."""
    for warning in answer.get("warnings", ()):
        shell.note(f"warning: job {answer['id']} ({answer['name']}): {warning}")


def counted_only(devices: int) -> str:
    """Return what is said where devices are only counted, nothing where none are."""
    if not devices:
        return ""
    some = "1 device is" if devices == 1 else f"{devices} devices are"
    return f"{some} only counted: jobs get their numbers, no GPU stands behind them"
