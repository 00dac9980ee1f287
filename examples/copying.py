"""Half an hour of copying, with the affinity score off and on. `python -m examples.copying`.

Six data sets of 5.6 TB, over 25 Gbit/s: a copy takes half an hour. The disks of six machines hold two of them each.
Fine-tunes of about half an hour read one of them each. With the score on a job goes where its data already lie, without
it to the place that is best for the others. (Where every disk holds everything after a while, there is little to gain.)
"""

from __future__ import annotations

from examples.shown import HOUR_S, Column, Raw, Side, hours, mean, of_summary, percent, run_time, show, waits

MINUTE = 60
JOBS = 120
DATA, SIZE = ("images", "speech", "text", "video", "code", "music"), "5.6TB"
FLEET = {"nodes": [{"name": "node", "count": 6, "gpus": 4, "bandwidth": 25, "disk": "12TB"}]}
LENGTHS, SIZES = (30, 45, 20, 40), (1, 2, 1, 2, 1)  # minutes; GPUs


def fine_tunes() -> list[Raw]:
    """Return the jobs, one every five minutes; what they read, need and take goes round."""
    return [
        {
            "name": f"fine-tune-{number}", "submit": 5 * MINUTE * number, "gpus": SIZES[number % len(SIZES)],
            "runtime": LENGTHS[number % len(LENGTHS)] * MINUTE, "time_estimate": 2 * HOUR_S,
            "inputs": [{"name": DATA[number % len(DATA)], "size": SIZE}],
        }
        for number in range(JOBS)
    ]  # fmt: skip


def scenario(weight: int) -> Raw:
    """Return the morning with a weight of the score."""
    score = {"affinity": weight, "fragmentation": 1}
    return {"policy": {"order": ["fifo"], "preempt": [], "score": score}, "fleet": FLEET, "jobs": fine_tunes()}


SIDES = (Side("affinity: 0", scenario(0)), Side("affinity: 1", scenario(1)))


def _stood(scenario: Raw, timeline: Raw) -> float:
    """Return how long GPUs stood still while data were copied, in GPU seconds."""
    jobs = {job["name"]: job for job in scenario["jobs"]}
    stood = [(run_time(one) - jobs[name]["runtime"]) * jobs[name]["gpus"] for name, one in timeline["jobs"].items()]
    return float(sum(stood))


def _copied(scenario: Raw, timeline: Raw) -> int:
    """Return how many jobs had to wait for a copy."""
    jobs = {job["name"]: job["runtime"] for job in scenario["jobs"]}
    return sum(run_time(one) > jobs[name] for name, one in timeline["jobs"].items())


COLUMNS = (
    Column("jobs that copy", _copied),
    Column("GPU hours of copying", lambda s, t: _stood(s, t) / HOUR_S, lambda n: f"{n:.1f}"),
    Column("mean wait", lambda _, timeline: mean(waits(timeline, "fine-tune")), hours),
    Column("mean time to the end", of_summary("mean_jct"), hours),
    Column("all done after", of_summary("makespan"), hours),
    Column("gpu_use", of_summary("gpu_use"), percent),
)

if __name__ == "__main__":
    show(__doc__, SIDES, COLUMNS)
