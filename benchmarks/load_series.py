"""The series of load that are forecast: Helios, ServeGen and genai2026, as they were published."""

from __future__ import annotations

import csv
import gzip
from typing import TYPE_CHECKING

import numpy as np

from clearway.forecast.load.series import DAY_S, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EACH_MINUTES = 5  # Helios is given by the minute, and looked at every fifth
GENAI_STEP_S, GENAI_BEGIN_S, GENAI_STEPS = 57, 1_662_858_720, 1441
FRIDAY = 4  # the first of May 2020


def every_series(data: Path) -> Iterator[Series]:
    """Yield all series."""
    yield from servegen(data / "servegen-rate")
    yield from genai(data / "genai2026")
    yield from helios(data / "helios-util")


def servegen(folder: Path) -> Iterator[Series]:
    """Yield requests a second, each 600 s; zeros are gaps. At what time of which day they begin is not told."""
    for path in sorted(folder.glob("*.csv.gz")):
        rates = np.array([float(row["rate_rps"]) for row in _rows(path)])
        name = path.name.partition("_")[2].removesuffix(".csv.gz")
        yield Series(f"servegen {name}", np.where(rates == 0, np.nan, rates), 600, positive=True)


def helios(folder: Path) -> Iterator[Series]:
    """Yield the share of GPUs that is taken, each 5 minutes; beside it what waits, large jobs, and running jobs."""
    for path in sorted(folder.glob("earth_*.csv.gz")):
        rows = list(_rows(path))[::EACH_MINUTES]
        size = max(float(row["running_gpu_num"]) + float(row["idle_gpu_num"]) for row in rows)
        beside = ("pending_gpu_num", "running_gpu_num_noless_8", "running_job_num")
        yield Series(
            f"helios {path.name.removesuffix('.csv.gz').removeprefix('earth_')}",
            _column(rows, "gpu_utilization"),
            EACH_MINUTES * 60,
            start_s=FRIDAY * DAY_S,
            beside=np.stack([_column(rows, name) / size for name in beside], axis=1),
        )


def genai(folder: Path) -> Iterator[Series]:
    """Yield duty cycle and memory (GiB) of a pod in the mean, all requests, length and time of the queue."""
    kinds: tuple[tuple[str, str, Callable[[Floats, Floats], Floats], float], ...] = (
        ("duty", "pod_gpu_duty_cycle_anon", _mean, 1),
        ("memory", "pod_gpu_memory_used_bytes_anon", _mean, 2**30),
        ("requests", "qps", lambda sums, _: sums, 1),
        ("queue", "queue_size_raw_anon", _mean, 1),
        ("queue time", "queue_rt_raw_anon", _mean, 1),
    )
    for name, file, of, unit in kinds:
        sums, counts = np.zeros(GENAI_STEPS), np.zeros(GENAI_STEPS)
        for row in _rows(folder / f"{file}.csv.gz"):
            step = round((float(row["timestamp_anon"]) - GENAI_BEGIN_S) / GENAI_STEP_S)
            sums[step] += float(row["value"]) / unit
            counts[step] += 1
        yield Series(f"genai2026 {name}", of(sums, counts), GENAI_STEP_S)


def _mean(sums: Floats, counts: Floats) -> Floats:
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt") as file:
        yield from csv.DictReader(file)


def _column(rows: list[dict[str, str]], name: str) -> Floats:
    return np.array([float(row[name]) for row in rows])
