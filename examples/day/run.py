"""The example day: `make run`, or `python -m examples.day.run`.

Two teams share eight devices for a minute. Everything goes through the product as anybody has it: `clearway up`,
`queues --set`, `submit` with the files in `jobs/`, and what it tells afterwards. The day has a controller and a
directory of its own, and leaves the user's controller alone. Exit code 0 only if all jobs succeeded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.model.errors import ClearwayError, ConflictError
from clearway.sdk import Client
from examples.day.progress import progress
from examples.day.told import tell_day, tell_models

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "out" / "day"
DEVICES = 8
LOOK_S = 0.2
GIVEN_UP_S = 300.0
JOBS = HERE / "jobs"
FIRST = ("1-prepare.yaml", "2-sweep.yaml")
LATER = {2.0: ("3-train.yaml", "4-gang.yaml", "5-shares.yaml", "6-choose.yaml"), 5.0: ("7-support.yaml",)}
"""Which files are submitted when, in seconds from the moment at which the sweep runs."""


def main() -> int:
    """Run the day, and tell what came of it."""
    parser = argparse.ArgumentParser(prog="python -m examples.day.run", description=__doc__)
    parser.add_argument("--out", type=Path, help="a directory to work in [a new one in out/day]")
    place = _place(parser.parse_args().out)
    begun = time.monotonic()
    print(f"The example day. Its controller and its files live in {place}\n", flush=True)
    with _controller(place) as clearway:
        clearway("queues", "--set", str(HERE / "queues.yaml"))
        client = Client.connect(place / "home")
        rows = _until_over(client, clearway)
        print()
        tell_day(client, rows)
        lost = [row["name"] for row in rows if row["state"] != "succeeded"]
        if lost:
            print(f"\nnot succeeded: {', '.join(lost)}; what they wrote lies in {place / 'home' / 'logs'}")
        else:
            tell_models(place)
    print(f"\nThe whole day took {time.monotonic() - begun:.0f} s.")
    return 1 if lost else 0


def _place(out: Path | None) -> Path:
    """Return a new directory: the one that is named, or the next free number in out/day."""
    if out is None:
        OUT.mkdir(parents=True, exist_ok=True)
        out = OUT / str(1 + max((int(p.name) for p in OUT.iterdir() if p.name.isdecimal()), default=0))
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        raise ConflictError(f"{out} is there already; the day makes a directory of its own") from None
    return out.resolve()


class Clearway:
    """The command line, called in the day's directory with the day's own controller."""

    def __init__(self, place: Path) -> None:
        """Find the command beside this Python."""
        programs = Path(sys.executable).parent
        self._place = place
        self._command = [str(programs / "clearway"), "--home", str(place / "home")]
        self._environment = {**os.environ, "PATH": _before("PATH", programs), "PYTHONPATH": _before("PYTHONPATH", ROOT)}

    def __call__(self, *words: str, quiet: bool = False) -> None:
        """Call it, and let it speak unless `quiet`. Raises CalledProcessError where it fails."""
        shown = " ".join(Path(word).name if word.endswith(".yaml") else word for word in words)
        print(f"$ clearway {shown}", flush=True)
        out = subprocess.DEVNULL if quiet else None
        subprocess.run([*self._command, *words], cwd=self._place, env=self._environment, stdout=out, check=True)


def _before(variable: str, first: Path) -> str:
    """Return a search path with one more directory in front: jobs get it from whoever submits them."""
    return os.pathsep.join([str(first), *filter(None, [os.environ.get(variable)])])


@contextmanager
def _controller(place: Path) -> Iterator[Clearway]:
    """Have a controller for as long as the day lasts; whatever happens, nothing of it runs on."""
    clearway = Clearway(place)
    clearway("up", "--detach", "--devices", str(DEVICES))
    try:
        yield clearway
    finally:
        client = Client.connect(place / "home")
        for row in client.jobs():
            client.cancel(f"id:{row['id']}")
            client.wait(f"id:{row['id']}", GIVEN_UP_S)
        print()
        clearway("down")


def _submit(clearway: Clearway, names: Sequence[str]) -> None:
    clearway("submit", *(str(JOBS / name) for name in names), quiet=True)


def _until_over(client: Client, clearway: Clearway) -> list[dict[str, Any]]:
    """Submit what comes when its time is there, and watch until all jobs are over. Returns all in their order."""
    later, begun, sweeping = sorted(LATER.items()), time.monotonic(), None
    _submit(clearway, FIRST)
    with progress() as show:
        while True:
            now = time.monotonic()
            while later and sweeping is not None and later[0][0] <= now - sweeping:
                _submit(clearway, later.pop(0)[1])
            rows = sorted(client.jobs(everything=True), key=lambda row: int(row["id"]))
            if sweeping is None and any(row["name"] == "sweep" and row["started"] for row in rows):
                sweeping = now
            show(rows)
            if not later and all(row["ended"] for row in rows):
                return rows
            if now - begun > GIVEN_UP_S:
                raise TimeoutError(f"the day is not over after {GIVEN_UP_S:g} s")
            time.sleep(LOOK_S)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ClearwayError, subprocess.CalledProcessError, TimeoutError, KeyboardInterrupt) as error:
        sys.exit(f"the day was broken off: {error!s}" if str(error) else "the day was broken off")
