"""Starting one process. The child waits at a gate until its record is durable; only then it becomes the command.

So a runner that is killed at any instant leaves either a recorded process or none: the gate closes with it.
"""

from __future__ import annotations

import errno
import os
import resource
import signal

from clearway.engines.local import become, groups
from clearway.engines.local.procs import TICKET

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from tarfile import TarFile
    from typing import Any, BinaryIO, NoReturn

SHELL = "/bin/sh"
OPEN = b"o"
"""What the runner writes into the gate for each child that may go on."""

UNHEARD = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM,
    signal.SIGPROF, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
)  # fmt: skip
"""What the runner does not hear, since tasks need it: they may send their parent a signal that is meant for a shell."""

SPARE_DESCRIPTORS = 12
"""So many stay free: the gate, what a child opens before it is the command, and what a look at /proc takes."""

NOT_NOW = b"\0"
"""What a child says first where the machine is to blame, and not the task: it may be started later."""

THE_MACHINES = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)  # fmt: skip
"""Errors of our own files that say nothing of a task: no space, a disk that may not be written, nothing left."""

_ERROR_BYTES = 4000  # less than a pipe takes at once
_NOT_STARTED = 127  # what shells give for a command that could not be started
_SHOWN_CHARS = 80


class Settings:
    """What a child gets back that the runner changed for itself."""

    def __init__(self, ticket_prefix: str) -> None:
        self.ticket_prefix = ticket_prefix
        self.umask = os.umask(0o077)
        self.descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
        hard = self.descriptors[1]
        wanted = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, self.descriptors[0]), hard))

    def room(self) -> int:
        """Return how many children there are descriptors for, those included that a child needs to get ready.

        Raises OSError where there are none: it would fail in the child, where it would be the job's failure.
        """
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        left = most - len(os.listdir("/proc/self/fd")) - SPARE_DESCRIPTORS  # noqa: PTH208  pathlib costs 2 MB
        if left < 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return left

    def ticket(self, key: str) -> str:
        """Return the mark that all processes of a task carry."""
        return f"{self.ticket_prefix}:{key}"


def fork(order: dict[str, Any], gate: tuple[int, ...], settings: Settings) -> tuple[int, int]:
    """Fork a child for `order` and return its number and a pipe.

    The pipe ends empty when the command runs, else with a sentence that says why it does not. Raises OSError when the
    system has no process or descriptor left.
    """
    told, tell = os.pipe2(os.O_CLOEXEC)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _child(order, gate, tell, settings)
    except OSError:
        os.close(told)
        raise
    finally:
        os.close(tell)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    os.set_blocking(told, False)
    return pid, told


def _child(order: dict[str, Any], gate: tuple[int, ...], tell: int, settings: Settings) -> NoReturn:
    """Become the command. Nothing of the runner may run on in here, whatever happens."""
    try:
        os.close(gate[1])
        _own_signals()
        os.setsid()
        secrets = _secrets(order.get("secrets", {}))
        _prepare(order, settings)
        if os.read(gate[0], 1) == OPEN:
            _become(order, secrets, settings)
    except _CannotStartError as error:
        blame = NOT_NOW if error.not_now else b""
        os.write(tell, blame + str(error).encode(errors="replace")[:_ERROR_BYTES])
    except BaseException as error:  # noqa: BLE001  a stray exception would run the runner's code twice
        os.write(tell, f"it cannot be started: {type(error).__name__}".encode())
    finally:
        os._exit(_NOT_STARTED)


class _CannotStartError(Exception):
    """Why the command does not run, in a sentence without values of the environment. `cause`: what the system said."""

    def __init__(self, text: str, cause: OSError | None = None) -> None:
        super().__init__(text)
        self.not_now = cause is not None and cause.errno in THE_MACHINES


def _own_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ, *UNHEARD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _prepare(order: dict[str, Any], settings: Settings) -> None:
    try:
        groups.enter(order["groups"])
    except OSError as error:
        raise _CannotStartError(f"its control group cannot be entered: {error.strerror}") from None
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(_log(order["stdout"]), 1)
    os.dup2(_log(order["stderr"]), 2)
    _make_folder(order["env"]["CLEARWAY_CHECKPOINT_DIR"])
    code = _opened(order)
    os.umask(settings.umask)
    resource.setrlimit(resource.RLIMIT_NOFILE, settings.descriptors)
    _be_somebody(order)
    if code is not None:
        _unpack(code, order["cwd"])
    try:
        os.chdir(order["cwd"])
    except OSError as error:
        raise _CannotStartError(f"the working directory {order['cwd']!r} cannot be entered: {error.strerror}") from None
    if why := become.enter(order):
        raise _CannotStartError(why)


def _opened(order: dict[str, Any]) -> BinaryIO | None:
    """Open the files that the job takes along, which are the runner's, and make the folder for them."""
    if not order.get("code"):
        return None
    _make_folder(order["cwd"])
    try:
        if who := order.get("as"):
            os.chmod(os.path.dirname(order["cwd"]), become.PASS_THROUGH)  # noqa: PTH101, PTH120
            os.chown(order["cwd"], who["uid"], who["gid"], follow_symlinks=False)
        return open(order["code"], "rb")  # noqa: PTH123  read by `_unpack`, in this process
    except OSError as error:
        raise _CannotStartError(f"its code cannot be read: {error.strerror}", error) from None


def _be_somebody(order: dict[str, Any]) -> None:
    try:
        become.give(order)
        become.change(order)
    except OSError as error:
        uid = order["as"]["uid"]
        raise _CannotStartError(f"it cannot be run with uid {uid}: {error.strerror}", error) from None


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, 0o700, exist_ok=True)  # noqa: PTH103  pathlib costs 2 MB
    except OSError as error:
        raise _CannotStartError(f"the folder {path!r} cannot be made: {error.strerror}", error) from None


def _unpack(code: BinaryIO, folder: str) -> None:
    """Unpack the files that the job takes along, as its user and in its own process."""
    import tarfile  # noqa: PLC0415  the runner pays for every module, and few jobs need this one

    try:
        with code, tarfile.open(fileobj=code, mode="r:") as tar:
            _extract(tar, folder)
    except (OSError, tarfile.TarError) as error:
        cause = error if isinstance(error, OSError) else None
        raise _CannotStartError(f"its code cannot be unpacked into {folder!r}: {error}", cause) from None


def _extract(tar: TarFile, folder: str) -> None:
    """Extract members that the controller looked at when they were sent; a newer Python looks once more."""
    import tarfile  # noqa: PLC0415

    if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
        tar.extractall(folder, filter="data")
    else:
        tar.extractall(folder)  # noqa: S202


def _secrets(places: dict[str, list[str]]) -> dict[str, str]:
    """Read the secrets of a task, in its own process: the runner never has them."""
    found = {}
    for name, paths in places.items():
        path = next(filter(os.path.exists, paths), None)
        if path is None:
            raise _CannotStartError(f"the secret {name} is not set; set it with: clearway secret set {name}")
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                found[name] = os.fsdecode(file.read())
        except OSError as error:
            raise _CannotStartError(f"the secret {name} cannot be read: {error.strerror}", error) from None
    return found


def _log(path: str) -> int:
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120  pathlib costs 2 MB
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _CannotStartError(f"the log file {path!r} cannot be written: {error.strerror}", error) from None


def _become(order: dict[str, Any], secrets: dict[str, str], settings: Settings) -> None:
    environment = {**os.environ, **secrets, **order["env"], TICKET: settings.ticket(order["task"])}
    arguments = order["argv"]
    name = SHELL if order["shell"] else arguments[0]
    try:
        if order["shell"]:
            _become_shell(arguments[0], environment)
        else:
            os.execvpe(name, arguments, environment)  # noqa: S606  the product starts what its user asks for
    except (OSError, ValueError) as error:
        raise _CannotStartError(_why(name, arguments, environment, error)) from None


def _become_shell(line: str, environment: dict[str, str]) -> None:
    """Run a line by the shell; one that is too long for an argument comes from a file in memory."""
    try:
        os.execve(SHELL, ["sh", "-c", line], environment)  # noqa: S606
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
    script = os.memfd_create("script", 0)
    with os.fdopen(os.dup(script), "wb") as file:
        file.write(os.fsencode(line))
    os.execve(SHELL, ["sh", f"/proc/self/fd/{script}"], environment)  # noqa: S606


def _why(name: str, arguments: list[str], environment: dict[str, str], error: OSError | ValueError) -> str:
    shown = repr(name if len(name) <= _SHOWN_CHARS else name[: _SHOWN_CHARS - 3] + "...")
    if isinstance(error, ValueError):
        return f"the command {shown} cannot be started: a name in the environment or an argument is not allowed"
    if error.errno == errno.E2BIG:
        return _too_large(shown, arguments, environment)
    if error.errno == errno.ENOENT and os.path.exists(name):  # noqa: PTH110
        return f"the command {shown} cannot be started: the interpreter named in its first line does not exist"
    if error.errno == errno.ENOENT:
        return f"the command {shown} does not exist" + ("" if "/" in name else " in any folder of PATH")
    return f"the command {shown} cannot be started: {error.strerror}"


def _too_large(shown: str, arguments: list[str], environment: dict[str, str]) -> str:
    sizes = {key: len(os.fsencode(key)) + len(os.fsencode(value)) + 2 for key, value in environment.items()}
    largest = max(sizes, key=lambda key: sizes[key])
    return (
        f"the command {shown} cannot be started: its environment has {sum(sizes.values())} bytes "
        f"(the largest variable, {largest[:_SHOWN_CHARS]}, has {sizes[largest]}) and its arguments "
        f"{sum(len(os.fsencode(a)) + 1 for a in arguments)}, more than this machine passes to a process"
    )
