"""`clearway flow run`, `list`, `show`, `graph`, `cancel`, `resume`, `retry` and `skip`."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway.cli.drawing import as_mermaid, as_svg, as_text
from clearway.cli.entering import Sayings, enter_files
from clearway.cli.flow_told import Told, exact, headline, steps_of, tell_next
from clearway.cli.ps import where_or_why
from clearway.cli.shell import Shell, command, group
from clearway.cli.shown import plain
from clearway.cli.table import Cell, Column, draw, state
from clearway.model.errors import InputError
from clearway.model.flow import UNDO
from clearway.sdk.flows.told import culprit

if TYPE_CHECKING:
    from clearway.model.flow import FlowSpec

_FLOWS = (Column("ID", right=True), Column("WORKFLOW", cut=True), Column("STATE"), Column("RUN", right=True),
          Column("STEPS", wraps=True))  # fmt: skip
_STEPS = (
    Column("STEP", cut=True),
    Column("STATE"),
    Column("DONE", right=True),
    Column("JOBS", right=True),
    Column("RESULT, OR WHY", cut=True),
)
_FORMS = {"text": as_text, "svg": as_svg, "mermaid": as_mermaid}
_OPENS = ("{", "[", '"')
_NEARLY = {"true", "false", "null", "none", "nan", "infinity", "-infinity"}
"""What somebody meant as JSON, but wrote as another language has it."""
MOST_NAMED = 3  # steps that wait for a person, in a list of workflows
FLOW = click.argument("flow", metavar="NAME")


@group("flow")
def flow_command() -> None:
    """Run workflows: graphs of jobs with rules, conditions, lists and loops.

    For example: clearway flow run pipeline.yaml --wait
    """


@command("run")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--wait", is_flag=True, help="Wait until they are over; exits with 1 if one did not succeed.")
def _run(shell: Shell, files: tuple[str, ...], wait: bool) -> int:  # noqa: FBT001 - click calls it by name
    """Enter the workflows of YAML files: one workflow, a list of them, or {workflows: [..]}; - is stdin."""
    client = shell.client()

    def again(row: dict[str, Any]) -> dict[str, Any]:
        return client.flow(f"id:{row['id']}")

    return enter_files(
        shell, files, ("workflows", "flows"), client.run_flow, again, Sayings(_stands, _progress), wait=wait
    )


def _progress(row: dict[str, Any]) -> str:
    """Return how far a workflow is, in a line."""
    counts = row["steps"] if isinstance(row["steps"], dict) else Counter(step["state"] for step in row["steps"])
    over = sum(many for name, many in counts.items() if name not in ("pending", "running"))
    parts = [] if isinstance(row["steps"], dict) else [s for s in row["steps"] if s["state"] == "running"]
    now = ", ".join(f"{s['name']} {_done(s)}".rstrip() for s in parts[:3])
    return f"{row['name']}: {over} of {sum(counts.values())} steps over" + (f"; now {now}" if now else "")


def _stands(row: dict[str, Any]) -> str:
    why = f": {row['reason']['text']}" if row["reason"] else ""
    job = culprit(row) if isinstance(row["steps"], list) and row["state"] == "failed" else None
    if job is not None:
        why += f" ({job['name']} {where_or_why(job)}; clearway logs --stderr {shlex.quote(job['name'])})"
    return f"workflow {row['id']} ({row['name']}) is {row['state']}{why}"


@command("list")
@click.option("--all", "everything", is_flag=True, help="Also workflows that are steps of others.")
def _list(shell: Shell, everything: bool) -> None:  # noqa: FBT001 - click calls it by name
    """List workflows, newest first: those that run, and the newest 1,000 that are over."""
    rows = [row for row in shell.client().flows() if everything or row["part_of"] is None]
    if shell.as_json:
        shell.document({"flows": rows})
        return
    cells = [[str(r["id"]), r["name"], state(r["state"]), str(r["run"]), _stand(r)] for r in rows]
    draw(_FLOWS, cells)


def _counts(steps: dict[str, int]) -> str:
    return ", ".join(f"{many} {name}" for name, many in sorted(steps.items()))


def _stand(row: dict[str, Any]) -> str:
    asks = row["asks"]
    return _counts(row["steps"]) + (f"; waits for a person: {', '.join(asks[:MOST_NAMED])}" if asks else "")


@command("show")
@FLOW
def _show(shell: Shell, flow: str) -> None:
    """Show the workflow NAME (or its number) with its steps."""
    row = shell.client().flow(flow)
    if shell.as_json:
        shell.document(row)
        return
    shell.line(headline(row))
    draw(_STEPS, [_cells(one) for one in steps_of(row)])
    tell_next(shell, row)


def _cells(told: Told) -> list[str | Cell]:
    step = told.step
    return ["  " * told.depth + step["name"], state(exact(step)), _done(step), str(step["jobs"]), told.text]


def _done(step: dict[str, Any]) -> str:
    """Return how far a step with many instances is."""
    return f"{step['ended']} of {step['size']}" if step["size"] != 1 else ""


@command("graph")
@FLOW
@click.option(
    "--format", "form", type=click.Choice(list(_FORMS)), default="text",
    help="text for a terminal, svg for an image, mermaid for pages and editors that draw it.",
)  # fmt: skip
def _graph(shell: Shell, flow: str, form: str) -> None:
    """Draw the workflow NAME, or that of a YAML FILE before it has entered."""
    steps = _of_file(flow) if Path(flow).is_file() else shell.client().flow(flow)["steps"]
    if shell.as_json:
        shell.document({"steps": steps})
        return
    for line in _FORMS[form](steps):
        shell.line(line)


def _of_file(path: str) -> list[dict[str, Any]]:
    from clearway.cli.job_files import maps_of_files
    from clearway.flow.words import read_flow

    found = [read_flow(words) for words in maps_of_files((path,), "workflows")]
    return [step for flow in found for step in _drawn(flow)]


def _drawn(flow: FlowSpec) -> list[dict[str, Any]]:
    """Return the steps of a workflow that has not entered as a drawing wants them."""
    return [
        {
            "name": s.name, "after": list(s.after), "state": "pending", "until": s.until or None,
            "inner": None if s.flow is None else {"steps": _drawn(s.flow)},
        }
        for s in flow.steps
    ]  # fmt: skip


@command("cancel")
@FLOW
@click.option("--yes", is_flag=True, help="Do not ask, also where steps are being taken back (`undo`).")
def _cancel(shell: Shell, flow: str, yes: bool) -> None:  # noqa: FBT001 - click calls it by name
    """Stop what runs of the workflow NAME, and let nothing else of it start.

    Where it is taking back what its steps did, that is broken off: it asks first, and without a terminal says so.
    """
    client = shell.client()
    row = client.flow(flow)
    if undoing := [step["name"] for step in row["steps"] if step["name"].endswith(UNDO) and step["state"] == "running"]:
        said = f"workflow {row['name']} is taking back what its steps did; a cancel breaks that off at {undoing[0]}"
        if not yes and sys.stdin.isatty():
            click.confirm(f"{plain(said)}. Cancel it all the same?", abort=True, err=True)
        else:
            shell.note(said)
    _told(shell, client.cancel_flow(f"id:{row['id']}"), "is told to stop")


@command("resume")
@FLOW
@click.option("--step", help="The step that waits; not needed where only one does.")
@click.option("--value", help="The answer, as JSON; what does not look like JSON is a text.")
def _resume(shell: Shell, flow: str, step: str | None, value: str | None) -> None:
    """Answer a step of the workflow NAME that waits for a person (`pause`): it goes on with this value.

    Without a value it says what is asked, also by workflows and graphs inside it.
    For example: clearway flow resume deploy --value true
    """
    client = shell.client()
    if value is None:
        asked = [told.text for told in steps_of(client.flow(flow)) if told.step["pause"]]
        raise InputError("--value", None, "; ".join(["the answer, such as true or '\"yes\"'", *asked]))
    _told(shell, client.resume_flow(flow, _answer(value), step), "goes on")


def _answer(text: str) -> object:
    """Return a value in JSON, or a text that nobody could have meant as JSON."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except ValueError as error:
        if text.strip()[:1] in _OPENS or text.strip().lower() in _NEARLY:
            rule = f"JSON ({error}), or a text, in quotes where it looks like JSON"
            raise InputError("--value", text, rule) from None
        return text


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number there")


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


@command("retry")
@FLOW
@click.option("--from", "anew", multiple=True, metavar="STEP", help="Run this step and all behind it in any case.")
@click.option("--skip", multiple=True, metavar="STEP", help="Leave this step out.")
@click.option("--set", "said", multiple=True, metavar="STEP.WORD=VALUE", help="Another word for a step; VALUE as JSON.")
def _retry(shell: Shell, flow: str, anew: tuple[str, ...], skip: tuple[str, ...], said: tuple[str, ...]) -> None:
    """Run the workflow NAME again, which did not succeed: what has succeeded stays.

    For example: clearway flow retry train --from fit --set fit.max_retries=3
    """
    words = _words(said)
    _told(shell, shell.client().retry_flow(flow, anew, skip, words or None), "runs again")


def _words(said: tuple[str, ...]) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for one in said:
        name, equals, value = one.partition("=")
        step, dot, word = name.partition(".")
        if not (equals and dot and step and word):
            raise InputError("--set", one, "STEP.WORD=VALUE, such as fit.gpus=2")
        found.setdefault(step, {})[word] = _value(value)
    return found


@command("skip")
@FLOW
@click.argument("step", metavar="STEP")
def _skip(shell: Shell, flow: str, step: str) -> None:
    """Leave STEP of the workflow NAME out: what runs of it is stopped, and it counts as skipped."""
    _told(shell, shell.client().skip_step(flow, step), f"leaves {step} out")


def _told(shell: Shell, row: dict[str, Any], what: str) -> None:
    if shell.as_json:
        shell.document(row)
    else:
        shell.line(f"workflow {row['id']} ({row['name']}) {what}")


for _one in (_run, _list, _show, _graph, _cancel, _resume, _retry, _skip):
    flow_command.add_command(_one)
