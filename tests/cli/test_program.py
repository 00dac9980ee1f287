"""The program as a whole: light to start, every command explained, every error one line and a number."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from clearway.cli import faults
from clearway.cli.lazy import Entry, LazyGroup
from clearway.cli.main import COMMANDS, cli
from clearway.cli.shell import Shell, command
from clearway.model.errors import (
    ConflictError,
    ControllerError,
    InputError,
    LedgerError,
    NotFoundError,
    StoreError,
    UnknownWordError,
)

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = (
    "numpy",
    "fastapi",
    "uvicorn",
    "starlette",
    "sqlalchemy",
    "pydantic",
    "yaml",
    "rich",
    "psutil",
    "sqlite3",
    "asyncio",
)


def imported_by(code: str) -> set[str]:
    whole = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()) & set(HEAVY)


def calling(*args: str) -> str:
    return f"from clearway.cli.main import cli\ntry:\n    cli.main({list(args)!r})\nexcept SystemExit:\n    pass"


@pytest.mark.parametrize(
    "args", [("--version",), ("--help",), ("run", "--help"), ("run", "--gpus", "1", "--env", "A=1")]
)
def test_starting_imports_nothing_heavy(args: tuple[str, ...]) -> None:
    assert imported_by(calling(*args)) == set()


def test_the_client_is_light() -> None:
    code = (
        "import clearway.cli.run, clearway.cli.follow, clearway.sdk.client, clearway.sdk.transport, clearway.sdk.launch"
    )
    assert imported_by(code) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"], prog_name="clearway")
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"Usage: clearway {name}")
    assert "--json" in result.output or "Commands:" in result.output
    assert CliRunner().invoke(cli, ["help", name], prog_name="clearway").output == result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_documentation(name: str, root: Path) -> None:
    assert f"`clearway {name}" in (root / "docs" / "cli.md").read_text()


def test_every_exit_code_is_in_the_documentation(root: Path) -> None:
    page = (root / "docs" / "cli.md").read_text()
    for number, meaning in faults.EXIT_CODES:
        assert f"| {number} | {meaning} |" in page


def test_the_overview_shows_each_command_with_the_line_of_the_table() -> None:
    output = CliRunner().invoke(cli, ["--help"], prog_name="clearway").output
    for name, entry in COMMANDS.items():
        assert any(line.split() == [name, *entry.line.split()] for line in output.splitlines()), name


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["pss"], "clearway: no command 'pss'; did you mean 'ps'? (see: clearway --help)"),
        (["ps", "--stat", "x"], "clearway: No such option '--stat'"),
        (["ps", "--state", "x"], "clearway: Invalid value for '--state'"),
        (["show"], "clearway: Missing argument 'JOB'"),
        (["run"], "clearway: Missing argument"),
        (["run", "--gpuz", "1", "--", "true"], "clearway: No such option '--gpuz'"),
        (["help", "nothing"], "clearway: no command or subject 'nothing'"),
        (["logs", "x\x1b[31m", "y\x1b[31m"], "clearway: Got unexpected extra argument (y\\x1b[31m)"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(args: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, args, prog_name="clearway")
    assert result.exit_code == faults.BAD_INPUT
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(said)


@pytest.mark.parametrize("args", [[], ["queue"], ["set"], ["booking"]])
def test_a_group_without_a_command_shows_its_help(args: list[str]) -> None:
    result = CliRunner().invoke(cli, args, prog_name="clearway")
    shown = CliRunner().invoke(cli, [*args, "--help"], prog_name="clearway")
    assert (result.exit_code, result.stdout, result.stderr) == (faults.BAD_INPUT, "", shown.stdout)
    told = json.loads(CliRunner().invoke(cli, ["--json", *args]).stderr)
    assert told["detail"] == "Missing command"


def test_a_usage_error_keeps_its_lines_and_what_was_typed_has_none() -> None:
    @click.command("fail")
    @click.argument("word", type=click.Choice(["a", "b"]), metavar="WORD")
    @click.argument("more", required=False)
    def fail(word: str, more: str) -> None:
        raise click.UsageError(f"{word}: first \x1b\nsecond {more}")

    group = LazyGroup("clearway", entries={"fail": Entry("", "", "", "")})
    group.get_command = lambda *_: fail  # type: ignore[method-assign]
    missing = CliRunner().invoke(group, ["fail"], prog_name="clearway").stderr.splitlines()
    assert missing == [
        "clearway: Missing argument 'WORD'. Choose from:", "    a,", "    b", "see: clearway fail --help",
    ]  # fmt: skip
    two = CliRunner().invoke(group, ["fail", "a", "x\x1b"], prog_name="clearway").stderr.splitlines()
    assert two[:2] == ["clearway: a: first \\x1b", "second x\\x1b"]
    (one,) = CliRunner().invoke(group, ["fail", "a", "x\ny"], prog_name="clearway").stderr.splitlines()
    assert one.startswith("clearway: a: first \\x1b\\nsecond x\\ny")


def raising(error: Exception) -> click.Group:
    """A program with one command that fails."""

    @command("fail")
    def fail(_: Shell) -> None:
        raise error

    group = LazyGroup("clearway", entries={"fail": Entry("", "", "", "")})
    group.get_command = lambda *_: fail  # type: ignore[method-assign]
    return group


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (InputError("gpus", 1.5, "a whole number", "job x"), 2, 422),
        (UnknownWordError.of("gpu", ["gpus"], "job x"), 2, 422),
        (ControllerError("none runs"), 3, 503),
        (NotFoundError("no job 7"), 4, 404),
        (ConflictError("runs already"), 5, 409),
        (StoreError("disk full"), 1, 507),
        (LedgerError("odd"), 1, 500),
    ],
)
def test_each_kind_of_error_has_its_number_and_its_document(error: Exception, code: int, status: int) -> None:
    plain = CliRunner().invoke(raising(error), ["fail"])
    assert (plain.exit_code, plain.stdout) == (code, "")
    assert plain.stderr == f"clearway: {error}\n"
    told = CliRunner().invoke(raising(error), ["fail", "--json"])
    assert (told.exit_code, told.stdout) == (code, "")
    problem = json.loads(told.stderr)
    assert (problem["status"], problem["detail"]) == (status, str(error))
    if isinstance(error, InputError):
        assert [problem[k] for k in ("field", "rule", "place")] == [error.field, error.rule, error.place]


def test_a_wrong_call_with_json_is_a_document_too() -> None:
    result = CliRunner().invoke(cli, ["--json", "nothing"])
    assert json.loads(result.stderr)["status"] == 422


def test_the_json_of_the_command_that_is_run_is_not_ours() -> None:
    for command_line in (["--", "tool", "--json"], ["tool", "--json"]):
        result = CliRunner().invoke(cli, ["run", "--env", "A", *command_line])
        assert result.stderr == "clearway: env: '(not shown)' is refused: KEY=VALUE\n"


def test_an_error_cannot_bring_control_characters_to_the_terminal() -> None:
    result = CliRunner().invoke(raising(NotFoundError("no job \x1b[2J")), ["fail"])
    assert result.stderr == "clearway: no job \\x1b[2J\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_is_130(error: BaseException) -> None:
    assert CliRunner().invoke(raising(error), ["fail"]).exit_code == faults.INTERRUPTED  # type: ignore[arg-type]


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = "from clearway.cli.main import main; import sys; sys.argv = ['clearway', 'run', '--help']; main()"
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.stdout is not None
    program.stdout.close()
    _, said = program.communicate(timeout=30)
    assert (program.returncode, said) == (faults.READER_GONE, b"")


def test_home_and_json_may_stand_before_or_behind_the_command(tmp_path: Path) -> None:
    for args in (["--home", str(tmp_path), "--json", "ps"], ["ps", "--json", "--home", str(tmp_path)]):
        result = CliRunner().invoke(cli, args)
        assert result.exit_code == faults.NO_CONTROLLER
        assert str(tmp_path) in json.loads(result.stderr)["detail"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0, result.output
    assert "_CLEARWAY_COMPLETE" in result.stdout
    assert json.loads(CliRunner().invoke(cli, ["completion", shell, "--json"]).stdout)["shell"] == shell


def test_completion_is_for_the_shell_in_use() -> None:
    for_zsh = CliRunner().invoke(cli, ["completion"], env={"SHELL": "/usr/bin/zsh"})
    assert for_zsh.stdout == CliRunner().invoke(cli, ["completion", "zsh"]).stdout
    other = CliRunner().invoke(cli, ["completion"], env={"SHELL": "/bin/tcsh"})
    assert other.exit_code == faults.BAD_INPUT
    assert "say bash, zsh or fish" in other.stderr


def test_help_says_the_units() -> None:
    output = " ".join(CliRunner().invoke(cli, ["run", "--help"], prog_name="clearway").output.split())
    assert output.count("(e.g. 10GiB, 40GB; a plain number is bytes)") == 3
    assert "a plain number is seconds" in output


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("clearway su", {"submit", "suspend"}),
        ("clearway run --gpu-m", {"--gpu-model", "--gpu-memory"}),
        ("clearway show ", set()),
    ],
)
def test_completion_offers_commands_and_options_and_shows_no_error(words: str, offered: set[str]) -> None:
    env = {"_CLEARWAY_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    result = CliRunner().invoke(cli, [], prog_name="clearway", env=env)
    assert {line.partition(",")[2] for line in result.stdout.splitlines() if line} == offered
    assert result.stderr == ""


def test_help_has_subjects() -> None:
    assert "no controller can be reached" in CliRunner().invoke(cli, ["help", "exit-codes"]).stdout
    assert "newest job with this name" in CliRunner().invoke(cli, ["help", "jobs"]).stdout
    listed = json.loads(CliRunner().invoke(cli, ["help", "exit-codes", "--json"]).stdout)
    assert len(listed["exit-codes"]) == len(faults.EXIT_CODES)


def test_help_goes_down_to_the_commands_of_a_command() -> None:
    said = CliRunner().invoke(cli, ["help", "queue", "set"])
    assert (said.exit_code, "--guarantee" in said.stdout) == (0, True)
    assert CliRunner().invoke(cli, ["help", "queue", "nope"]).exit_code == 2
    assert CliRunner().invoke(cli, ["help", "ps", "nope"]).exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("flow", "clear", "W"), "flow retry NAME --from STEP"),
        (("flow", "shwo"), "did you mean 'show'"),
        (("schedule", "create"), "schedule set FILE"),
        (("schedule", "trigger", "S"), "does its work now"),
        (("search", "best"), "search show NAME"),
        (("queue", "zzzz"), "no command 'zzzz' of queue"),
    ],
)
def test_a_command_that_a_group_does_not_have(words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, said in result.stderr) == (faults.BAD_INPUT, True), result.stderr
