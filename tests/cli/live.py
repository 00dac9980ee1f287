"""A controller of the tests' own, and the command line called on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from click.testing import CliRunner

from clearway.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROGRAM = [sys.executable, "-c", "from clearway.cli.main import main; main()"]
PATIENCE_S = 60
LOOK_EVERY_S = 0.02


def until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds, and fail where it never does."""
    limit = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < limit, f"never: {what}"
        time.sleep(LOOK_EVERY_S)


class Said(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


class Product:
    """The command line with one home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *args: str, stdin: str | bytes | None = None) -> Said:
        """Call a command in this process; the controller is another one."""
        result = CliRunner().invoke(cli, ["--home", str(self.home), *args], input=stdin, prog_name="clearway")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    def json(self, *args: str, code: int = 0) -> Any:
        """Call a command with --json, and return its document."""
        said = self(args[0], "--json", *args[1:])
        assert said.code == code, said
        return json.loads(said.out)

    def process(self, *args: str, **more: Any) -> subprocess.Popen[str]:
        """Start a command as a process of its own."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | more
        return subprocess.Popen([*PROGRAM, "--home", str(self.home), *args], **pipes)

    def starting(self, *args: str) -> Said:
        """Call a command that may start a controller: from a process of its own, which is then the one that left it."""
        with self.process(*args) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        return Said(process.returncode, out, err)

    def output(self, *args: str) -> bytes:
        """Call a command as a process of its own that succeeds, and return the very bytes that it wrote."""
        whole = [*PROGRAM, "--home", str(self.home), *args]
        return subprocess.run(whole, stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S).stdout

    def run(self, *command: str, words: tuple[str, ...] = ()) -> str:
        """Run a command as a job, and return its number."""
        return str(self.json("run", *words, "--", *command)["id"])

    def stop(self) -> None:
        """End all jobs, then the controller, whatever state it is in."""
        try:
            if self("status", "--json").code == 0:
                self._end_jobs()
        finally:
            assert self("down").code == 0

    def _end_jobs(self) -> None:
        for row in self.json("ps")["jobs"]:
            self("cancel", f"id:{row['id']}")
            self("wait", "--timeout", "30", f"id:{row['id']}")


def kill(pid: int) -> None:
    """Kill a process that a test started, as a crash would."""
    os.kill(pid, signal.SIGKILL)
