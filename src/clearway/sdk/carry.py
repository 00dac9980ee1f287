"""Files that jobs take along: packed where they are submitted, sent once, and named by their content in the job."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway.model.errors import InputError
from clearway.model.runtime_words import is_folder
from clearway.sdk.pack import pack

if TYPE_CHECKING:
    from collections.abc import Callable

    Send = Callable[[str, bytes], None]

_NESTED = ("steps", "chain", "group", "chord", "callback", "on_error", "undo", "job", "workflow")
"""Where the words of workflows, schedules and searches have jobs in them."""


class Carrier:
    """Packs each folder once, and has `send` keep what is not there yet, by its digest."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sent: dict[object, str] = {}

    def carry(self, words: Any) -> Any:  # noqa: ANN401  words as they were given: a wrong one is refused where it is read
        """Return the words of jobs, or of what has jobs in it, with what they take along named by its content."""
        if isinstance(words, list | tuple):
            return [self.carry(one) for one in words]
        if not isinstance(words, Mapping):
            return words
        inner = {key: self.carry(words[key]) for key in _NESTED if key in words}
        return self._job({**words, **inner} if inner else words)

    def _job(self, job: Mapping[str, Any]) -> Mapping[str, Any]:
        env = job.get("runtime_env")
        if isinstance(env, Mapping) and (folders := _folders(env)):
            return self._with_env(job, env, folders)
        if job.get("code") == "copied":
            folder = Path(str(job.get("workdir") or ".")).absolute()
            return {**job, "workdir": str(folder), "code": self._code(folder)}
        return job

    def _with_env(
        self, job: Mapping[str, Any], env: Mapping[str, Any], folders: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        here = Path(str(job.get("workdir") or ".")).absolute()
        if job.get("code") and ("working_dir" in folders or job["code"] != "copied"):
            raise InputError("runtime_env", ", ".join(folders), "either folders here, or `workdir` and `code`")
        folder = here if job.get("code") else None
        if "working_dir" in folders:
            folder = (here / folders["working_dir"]).resolve()
        modules = {}
        for one in folders.get("py_modules", ()):
            place = (here / one).resolve()
            if not place.is_dir():
                raise InputError("runtime_env.py_modules", one, "folders and addresses; `pip` installs what is packed")
            modules[place.name] = place
        left = {key: said for key, said in env.items() if key not in {*folders, "excludes"}}
        if addresses := [one for one in env.get("py_modules") or () if not is_folder(one)]:
            left["py_modules"] = addresses
        workdir = {"workdir": str(folder)} if folder else {}
        code = self._code(folder, modules, tuple(env.get("excludes") or ()))
        return {**job, "runtime_env": left or None, **workdir, "code": code}

    def _code(
        self, folder: Path | None, modules: Mapping[str, Path] | None = None, left_out: tuple[str, ...] = ()
    ) -> str:
        key = (folder, None if modules is None else tuple(modules.items()), left_out)
        if key not in self._sent:
            digest, content = pack(folder, modules, left_out)
            self._send(digest, content)
            self._sent[key] = digest
        return self._sent[key]


def _folders(env: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a runtime environment is folders here."""
    found: dict[str, Any] = {}
    if is_folder(env.get("working_dir")):
        found["working_dir"] = env["working_dir"]
    modules = env.get("py_modules")
    if isinstance(modules, list | tuple) and (here := [one for one in modules if is_folder(one)]):
        found["py_modules"] = here
    return found
