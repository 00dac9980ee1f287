"""What an outlook says, in lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def outlook_lines(row: dict[str, Any], said: Collection[str] = ()) -> Iterator[str]:
    """Yield what a job lacks, when it is expected to start, and what would let it start at once; nothing of `said`."""
    for lack in row["lacks"]:
        if lack["text"] not in said:
            yield lack["text"]
        if lack["lifts_text"]:
            yield f"  lifted by {lack['lifts_text']}"
    yield row["text"]
    if row["eta"] is not None:
        yield row["eta"]["text"]
    if row["fits_text"]:
        yield row["fits_text"]
    for need in row["needs"]:
        yield need["text"]
    if row["needs_text"]:
        yield row["needs_text"]
    for change in row["changes"]:
        yield change["text"] + (" (clearway set)" if change["how"] == "set" else "")
    if not row["changes"] and row["verdict"] != "starts" and row["fits"]["of"]:  # changes are tried of what is in line
        yield "no change of one word that was tried would let it start now"
