"""In the child, before it is the command: becoming the user of the job, and entering its virtual environment."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # not from typing: the runner pays for every module
if TYPE_CHECKING:
    from typing import Any

HANDED = ("CLEARWAY_INPUT", "CLEARWAY_RESULT", "CLEARWAY_METRICS", "CLEARWAY_PROGRESS")
"""Variables that name files which the task reads or writes, in a folder that is not its own."""
PASS_THROUGH = 0o711


def give(order: dict[str, Any]) -> None:
    """Give the task's user what is to be its own. Raises OSError."""
    who, environment = order.get("as"), order["env"]
    if not who:
        return
    os.chmod(os.path.dirname(order["stdout"]), PASS_THROUGH)  # noqa: PTH101, PTH120  pathlib costs 2 MB
    os.chown(environment["CLEARWAY_CHECKPOINT_DIR"], who["uid"], who["gid"], follow_symlinks=False)
    for name in HANDED:
        if name in environment:
            file = os.open(environment[name], os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.fchown(file, who["uid"], who["gid"])
            os.close(file)


def change(order: dict[str, Any]) -> None:
    """Be the task's user from here on, for good. Raises OSError."""
    who = order.get("as")
    if not who:
        return
    if who["uid"] == 0:
        raise PermissionError(1, "it would be root's")
    os.setgroups(who["groups"])
    os.setresgid(who["gid"], who["gid"], who["gid"])
    os.setresuid(who["uid"], who["uid"], who["uid"])
    own = {"HOME": who["home"], "USER": who["name"], "LOGNAME": who["name"]}
    order["env"] = {**own, **order["env"]}


def enter(order: dict[str, Any]) -> str:
    """Put a virtual environment before all else on PATH; return why that cannot be, "" where it can."""
    if not order.get("venv"):
        return ""
    place = os.path.join(order["cwd"], order["venv"])  # noqa: PTH118
    programs = os.path.join(place, "bin")  # noqa: PTH118
    if not os.access(os.path.join(programs, "python"), os.X_OK):  # noqa: PTH118
        return f"the virtual environment {place!r} is none: it has no bin/python that can be run"
    path = order["env"].get("PATH", os.environ.get("PATH", os.defpath))
    order["env"] |= {"VIRTUAL_ENV": place, "PATH": f"{programs}:{path}", "PYTHONHOME": ""}
    return ""
