"""The controller process: `python -m clearway.api.process --home DIR`. Started by `clearway up` and whoever needs one.

The loop that decides runs in a thread of its own; HTTP is served in the main one. Exit codes are in docs/settings.md.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import gc
import json
import logging
import os
import signal
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway import __version__
from clearway.compose.launch import EXIT_TAKEN
from clearway.config.home import Running, home_dir, make_home, process_start, says, write_running
from clearway.config.settings import load_settings
from clearway.model.errors import ClearwayError, InputError, StoreError
from clearway.model.policies import SETTINGS

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Sequence

    from clearway.compose.assemble import Assembled
    from clearway.config.settings import Settings

LOG = logging.getLogger("clearway.process")
EXIT_BAD_SETTING = 2
EXIT_LOOP_FAILED = os.EX_SOFTWARE
EXIT_STORE = os.EX_IOERR
OLD_LOGS = 3
TELL_EVERY_S = 1.0  # so often is looked whether controller.json still says who runs here
SWITCH_S = 0.0002
"""A thread that computes is asked so soon to let another one go on. Python's own 5 ms would be paid by the loop that
decides each time it comes back from the disk while readers are served, and that is ten times in a turn.
"""
STOP_S = 10.0  # the turn that is under way when a controller stops takes milliseconds


def main(argv: Sequence[str] | None = None) -> int:
    """Run a controller until it is told to stop, and return the exit code."""
    parser = argparse.ArgumentParser("clearway.api.process", description="The controller of one home.")
    parser.add_argument("--home", type=Path, default=None)
    parser.add_argument("--options", type=json.loads, default={}, help="settings as JSON, over those of clearway.yaml")
    given = parser.parse_args(argv)
    home = home_dir(given.home)
    try:
        make_home(home)
        with ExitStack() as held:
            if not held.enter_context(_only_one(home)):
                print(f"another controller has {home}", file=sys.stderr)  # noqa: T201  its log is not ours to write
                return EXIT_TAKEN
            settings = load_settings(home, given.options)
            _write_log(home, settings)
            return _run(settings, partial(load_settings, home, given.options))
    except (ClearwayError, OSError) as error:
        print(f"clearway: {error}", file=sys.stderr)  # noqa: T201  what whoever starts it shows
        return _exit_code(error)


def _exit_code(error: Exception) -> int:
    if isinstance(error, InputError):
        return EXIT_BAD_SETTING
    return EXIT_STORE if isinstance(error, StoreError) else 1


@contextmanager
def _only_one(home: Path) -> Iterator[bool]:
    lock = os.open(home / "controller.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(lock)


def _write_log(home: Path, settings: Settings) -> None:
    handler = RotatingFileHandler(
        home / "controller.log", maxBytes=settings.log_size, backupCount=OLD_LOGS, encoding="utf-8"
    )
    os.chmod(handler.baseFilename, 0o600)  # noqa: PTH101
    handlers: list[logging.Handler] = [handler]
    if not os.path.samestat(os.fstat(2), os.stat(handler.baseFilename)):  # noqa: PTH116
        handlers.append(logging.StreamHandler())  # in the foreground somebody reads along
    logging.basicConfig(level=logging.INFO, handlers=handlers, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if settings.log_format == "json":
        from clearway.observe.log_lines import JsonLines  # noqa: PLC0415  few want it

        for one in handlers:
            one.setFormatter(JsonLines())
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # its warnings are of what anybody may send to a port


def _load() -> None:
    """Import what a controller is made of. None of that is ever garbage: to look for some takes a sixth of the time."""
    gc.disable()
    try:
        for name in ("clearway.api.server", "clearway.api.app", "clearway.api.call_entry", "clearway.compose.assemble"):
            import_module(name)
        gc.freeze()
    finally:
        gc.enable()


def _run(settings: Settings, reread: Callable[[], Settings]) -> int:
    _load()
    from clearway.api.access import read_token  # noqa: PLC0415  a taken home answers before this loads
    from clearway.api.server import port_socket, unix_socket  # noqa: PLC0415
    from clearway.compose.assemble import assemble  # noqa: PLC0415

    sys.setswitchinterval(SWITCH_S)
    ended = _Ended()
    with ExitStack() as held:
        parts = assemble(settings, ended)
        held.callback(parts.close)
        listeners = [held.enter_context(unix_socket(settings.home))]
        if settings.listen:
            listeners.append(held.enter_context(port_socket(settings.listen)))
        running = _who(settings, listeners)
        token = read_token(settings.home / "token") if settings.listen else ""
        parts.reach.opened(running.listen)
        parts.controller.start()
        _say_policy(parts)
        held.callback(_stop_loop, parts)
        parts.remember()
        asyncio.run(_serve(settings, reread, parts, listeners, ended, running, token))
    if ended.failure is not None:
        LOG.critical("the deciding loop failed", exc_info=ended.failure)
        return EXIT_LOOP_FAILED
    return 0


def _say_policy(parts: Assembled) -> None:
    """Say which policy is in force where that is not the one of the settings."""
    standing = parts.controller.world.state.policies
    if standing.how != SETTINGS:
        words = f"{standing.how} by {standing.by}" if standing.by else f"{standing.how} by the guard"
        LOG.info("policy %s, %s, stays in force: the settings name the same one as before it", standing.name, words)


def _stop_loop(parts: Assembled) -> None:
    parts.controller.stop()
    try:
        if not parts.controller.wait(STOP_S):
            LOG.error("the deciding loop did not end within %g s", STOP_S)
    except ClearwayError:
        LOG.debug("it had failed already", exc_info=True)  # told by the exit code and its own log line


class _Ended:
    """Hears of the end of the loop, in the loop's thread, and stops the server then."""

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self.stop: Any = None

    def __call__(self, failure: BaseException | None) -> None:
        self.failure = failure
        if self.stop is not None:
            self.stop()


async def _serve(
    settings: Settings, reread: Callable[[], Settings], parts: Assembled, listeners: list[socket.socket],
    ended: _Ended, running: Running, token: str,
) -> None:  # fmt: skip
    from clearway.api.app import build_app  # noqa: PLC0415
    from clearway.api.call_entry import call_service  # noqa: PLC0415
    from clearway.api.desk import Desk  # noqa: PLC0415
    from clearway.api.scarce import Scarce  # noqa: PLC0415
    from clearway.api.server import Server, Window, tls_context  # noqa: PLC0415

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(Scarce())
    window = Window(settings.public_url or running.listen)

    def stop() -> None:
        loop.call_soon_threadsafe(end)

    desk = Desk(
        parts.controller, parts.journal, parts.log_path, settings, _login(), _about(settings, running, parts),
        parts.engine.enforced(), parts.engine.lacks, stop=stop, reread=reread, again=parts.again,
        metrics=parts.watching.metrics, notes=parts.journal, window=window, rules=parts.watching.rules,
    )  # fmt: skip
    desk.serve(call_service(desk, parts))
    tls = tls_context(*settings.tls) if settings.tls else None
    server = window.server = Server(build_app(desk, token), lambda: _tell_ready(settings.home, running), tls)

    def end() -> None:
        desk.stopping.set()
        server.should_exit = True

    for number in _ending_signals():
        loop.add_signal_handler(number, end)
    ended.stop = desk.stop
    if ended.failure is not None:
        end()
    desk.calls.start()
    desk.shadowing.start()
    telling = asyncio.ensure_future(_keep_telling(settings.home, running))
    try:
        await server.serve(listeners)
    finally:
        telling.cancel()
        desk.calls.stop()
        await desk.shadowing.stop()
        ended.stop = None
        (settings.home / "controller.json").unlink(missing_ok=True)


def _ending_signals() -> list[signal.Signals]:
    """Return the signals that end a controller: also its terminal's going away, unless `nohup` has it stay."""
    ends = [signal.SIGTERM, signal.SIGINT]
    return ends if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [*ends, signal.SIGHUP]


async def _keep_telling(home: Path, running: Running) -> None:
    """Write controller.json again where it was removed or spoilt: without it nobody would find this controller."""
    while True:
        await asyncio.sleep(TELL_EVERY_S)
        try:
            if not says(home, running):
                write_running(home, running)
                LOG.warning("controller.json was missing or spoilt, and is written again")
        except OSError as error:
            LOG.warning("controller.json cannot be written: %s", error)


def _who(settings: Settings, listeners: list[socket.socket]) -> Running:
    local, *others = [listener.getsockname() for listener in listeners]
    host = f"[{others[0][0]}]" if others and ":" in others[0][0] else others[0][0] if others else ""
    listen = f"http{'s' if settings.tls else ''}://{host}:{others[0][1]}" if others else ""
    return Running(os.getpid(), process_start(os.getpid()), str(local), listen, __version__)


def _about(settings: Settings, running: Running, parts: Assembled) -> dict[str, Any]:
    from clearway.api.moments import iso  # noqa: PLC0415

    about = {k: v for k, v in running._asdict().items() if k != "started"}
    place = {"home": str(settings.home), "term": parts.journal.term}
    return {**about, **place, "since": iso(parts.controller.now_us())}


def _tell_ready(home: Path, running: Running) -> None:
    write_running(home, running)
    LOG.info("controller %s of %s is ready as process %d on %s", running.version, home, running.pid, running.socket)


def _login() -> str:
    import pwd  # noqa: PLC0415

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())  # a container's user without a name


if __name__ == "__main__":
    sys.exit(main())
