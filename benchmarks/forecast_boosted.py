"""What boosted trees add to the groups: the smaller pasts with and without them. Needs the extra `learn`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.forecast_pasts import read
from benchmarks.forecast_progress import progress
from benchmarks.forecast_runs import OURS, Played, play
from clearway.forecast import RunTimes
from clearway.learn.boosted import Boosted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clearway.forecast.scores import Scores

PASTS = ("itp-01", "itp-03", "itp-05", "itp-06", "itp-09", "nasa", "hpc2n", "openb", "muri-4", "lublin", "chronus")
KEYS = {"boosted": "pinball loss and median error of the logarithm, by groups alone and with boosted trees beside them"}


def run(data: Path, names: Sequence[str]) -> dict[str, Any]:
    """Play each past twice."""
    return {"boosted": [_row(name, _play(data, name, None), _play(data, name, Boosted())) for name in names]}


def _play(data: Path, name: str, adviser: Boosted | None) -> Scores:
    played = Played()
    for jobs in read(data, name):
        with progress(name, len(jobs)) as advance:
            play(jobs, RunTimes(adviser), played, advance)
    return played.scores()[OURS]


def _row(name: str, plain: Scores, boosted: Scores) -> dict[str, str]:
    return {
        "past": name, "pinball": f"{plain.pinball:.3f}", "boosted": f"{boosted.pinball:.3f}",
        "log error": f"{plain.log_error:.3f}", " boosted": f"{boosted.log_error:.3f}",
        "80 %": f"{boosted.coverage['80']:.1f}", "95 %": f"{boosted.coverage['95']:.1f}",
    }  # fmt: skip
