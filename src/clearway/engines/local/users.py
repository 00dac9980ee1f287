"""Whose processes tasks are, where the controller is root's and the settings say which user is which uid.

Nothing is ever started as uid 0 for somebody else: a user without a uid gets no process at all.
"""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

from clearway.model.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clearway.engines.local.wire import Message

PASS_THROUGH = 0o711
"""Mode of folders that hold what is somebody else's: others may go through, and neither look nor write."""
FOLDERS = ("", "checkpoints", "logs", "work")


class Users:
    """What is known of the users of tasks. Without uids all tasks are the controller's user's."""

    def __init__(self, uids: Mapping[str, int] | None = None) -> None:
        """`uids`: of each user who may run something."""
        self._uids = dict(uids or {})
        self.enforced = bool(self._uids) and os.geteuid() == 0

    def open_home(self, home: Path) -> None:
        """Let users through to their own folders in a home. Raises EngineError."""
        if not self.enforced:
            return
        try:
            for name in FOLDERS:
                (home / name).mkdir(exist_ok=True, mode=PASS_THROUGH)
                (home / name).chmod(PASS_THROUGH)
        except OSError as error:
            raise EngineError(f"the folders of tasks in {home} cannot be made: {error.strerror}") from error

    def refusal(self, user: str) -> str:
        """Return why nothing is started for a user, "" where it is."""
        if not self.enforced or user in self._uids:
            return ""
        return f"user {user!r} has no uid in the setting `uids`, and is not run as root"

    def order(self, user: str) -> Message:
        """Return what the runner is told of who a task's process is; empty: the runner's own user."""
        if not self.enforced:
            return {}
        uid = self._uids[user]
        try:
            known = pwd.getpwuid(uid)
        except KeyError:
            return {"uid": uid, "gid": uid, "groups": [], "home": "/", "name": user}
        groups = os.getgrouplist(known.pw_name, known.pw_gid)
        return {"uid": uid, "gid": known.pw_gid, "groups": groups, "home": known.pw_dir, "name": known.pw_name}

    def told(self) -> str:
        """Return what is done about it, in a sentence."""
        if self.enforced:
            return "each task runs with the uid that the setting `uids` has for its job's user"
        if self._uids:
            return "not enforced: only a controller of root's can run tasks with the uids of the setting `uids`"
        return "not enforced: all tasks run as the user of the controller"
