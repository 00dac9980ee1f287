"""`clearway config show`, `check` and `reload`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli.shell import Shell, command, group
from clearway.cli.table import Column, draw

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMNS = (Column("SETTING"), Column("VALUE", cut=True), Column("FROM"), Column("WHAT FOR", wraps=True))
FILE, DEFAULT = "file", "default"


@group("config")
def config_command() -> None:
    """Show and check the settings of a controller.

    They are read from clearway.yaml in its state directory when it starts.
    """


@command("show")
def _show(shell: Shell) -> None:
    """Show every setting: its value, whether the file or the default gives it, and what it is for."""
    from clearway.config.home import home_dir
    from clearway.config.settings import SETTINGS, read_settings

    home = home_dir(shell.home)
    raw = _raw(home / "clearway.yaml")
    read_settings(home, raw, str(home / "clearway.yaml"))
    said: Mapping[str, Any] = raw or {}
    rows = [_row(name, said) for name in SETTINGS]
    if shell.as_json:
        shell.document({"home": str(home), "file": _file(home), "settings": {row["name"]: row for row in rows}})
        return
    shell.line(f"state directory  {home}")
    shell.line(f"settings         {_file(home) or 'none: all are the defaults'}")
    shell.line("")
    draw(_COLUMNS, [_cells(row, SETTINGS[row["name"]].why) for row in rows])


def _raw(path: Path) -> dict[str, Any] | None:
    from clearway.config.yaml_file import read_yaml

    found: Any = read_yaml(path) if path.exists() else None
    return found  # type: ignore[no-any-return]  # whether it is a map is for read_settings to say


def _file(home: Path) -> str | None:
    path = home / "clearway.yaml"
    return str(path) if path.exists() else None


def _row(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    from clearway.config.settings import SETTINGS

    setting = SETTINGS[name]
    given = said.get(name)
    return {
        "name": name,
        "value": setting.default if given is None else _without_password(given),
        "from": DEFAULT if given is None else FILE,
        "default": setting.default,
        "unit": setting.unit,
    }


def _without_password(value: object) -> object:
    """Return a value without the password of an address, which a terminal's history or a report would keep."""
    return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:(not shown)@", value) if isinstance(value, str) else value


def _cells(row: dict[str, Any], why: str) -> tuple[str, str, str, str]:
    value = row["value"]
    return row["name"], value if isinstance(value, str) else json.dumps(value), row["from"], why


@command("check")
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(dir_okay=False, path_type=Path))
def _check(shell: Shell, file: Path | None) -> None:
    """Check a file of settings, by default the one of the state directory, as a start of the controller would.

    It exits with 0 where all is right, else with 2, and names setting, value and rule.
    """
    from clearway.compose.assemble import policy_of
    from clearway.config.home import home_dir
    from clearway.config.settings import read_settings
    from clearway.config.yaml_file import read_yaml

    home = home_dir(shell.home)
    path = file if file is not None else home / "clearway.yaml"
    found: Any = read_yaml(path) if file is not None or path.exists() else None
    policy_of(read_settings(home, found, str(path)))
    raw: dict[str, Any] = found or {}
    if shell.as_json:
        shell.document({"file": str(path), "settings": sorted(raw), "right": True})
    else:
        shell.line(f"{path}: {len(raw)} settings, all right" if raw else f"{path}: no settings; the defaults hold")


@command("reload")
def _reload(shell: Shell) -> None:
    """Have the running controller read clearway.yaml anew.

    Its queues, limits, budgets, policy and tenants hold at once; what the file no longer names stays as it is.
    Where the file is wrong nothing changes. Other settings hold from the next start on, and are named where they
    have changed.
    """
    row = shell.client().reload()
    if shell.as_json:
        shell.document(row)
        return
    *some, last = row["in_force"]
    shell.line(f"{', '.join(some)} and {last} of the settings are in force")
    if "policy" not in row["in_force"]:
        shell.line("the policy was promoted, and stays until the settings say another one: clearway policy show")
    if row["at_next_start"]:
        shell.line(f"from the next start on: {', '.join(row['at_next_start'])}")


config_command.add_command(_reload)
config_command.add_command(_show)
config_command.add_command(_check)
