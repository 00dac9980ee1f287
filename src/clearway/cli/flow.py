"""`clearway flow run`, `list`, `show`, `graph`, `cancel`, `resume` and `retry`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from clearway.cli import shown
from clearway.cli.drawing import as_mermaid, as_text
from clearway.cli.entering import enter_files
from clearway.cli.shell import Shell, command, group
from clearway.cli.table import Column, draw, state

_FLOWS = (Column("ID", right=True), Column("WORKFLOW", cut=True), Column("STATE"), Column("RUN", right=True),
          Column("STEPS", wraps=True))  # fmt: skip
_STEPS = (Column("STEP", cut=True), Column("STATE"), Column("JOBS", right=True), Column("RESULT, OR WHY", cut=True))
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

    return enter_files(shell, files, ("workflows", "flows"), client.run_flow, again, _stands, wait=wait)


def _stands(row: dict[str, Any]) -> str:
    why = f": {row['reason']['text']}" if row["reason"] else ""
    return f"workflow {row['id']} ({row['name']}) is {row['state']}{why}"


@command("list")
def _list(shell: Shell) -> None:
    """List workflows, newest first: those that run, and the newest 1,000 that are over."""
    rows = shell.client().flows()
    if shell.as_json:
        shell.document({"flows": rows})
        return
    cells = [[str(r["id"]), r["name"], state(r["state"]), str(r["run"]), _counts(r["steps"])] for r in rows]
    draw(_FLOWS, cells)


def _counts(steps: dict[str, int]) -> str:
    return ", ".join(f"{many} {name}" for name, many in sorted(steps.items()))


@command("show")
@FLOW
def _show(shell: Shell, flow: str) -> None:
    """Show the workflow NAME (or its number) with its steps."""
    row = shell.client().flow(flow)
    if shell.as_json:
        shell.document(row)
        return
    why = f": {row['reason']['text']}" if row["reason"] else ""
    shell.line(f"workflow {row['id']} ({row['name']}), run {row['run']}, is {row['state']}{why}")
    draw(_STEPS, [[s["name"], state(s["state"]), str(s["jobs"]), _outcome(s)] for s in row["steps"]])


def _outcome(step: dict[str, Any]) -> str:
    if step["pause"]:
        return f"waits for a person: {step['pause']}"
    if step["reason"]:
        return str(step["reason"]["text"])
    return json.dumps(step["result"], ensure_ascii=False) if step["state"] == "succeeded" else shown.NOTHING


@command("graph")
@FLOW
@click.option("--mermaid", is_flag=True, help="As Mermaid, which many pages and editors draw.")
def _graph(shell: Shell, flow: str, mermaid: bool) -> None:  # noqa: FBT001 - click calls it by name
    """Draw the workflow NAME, or that of a YAML FILE before it has entered."""
    steps = _of_file(flow) if Path(flow).is_file() else shell.client().flow(flow)["steps"]
    if shell.as_json:
        shell.document({"steps": steps})
        return
    for line in as_mermaid(steps) if mermaid else as_text(steps):
        shell.line(line)


def _of_file(path: str) -> list[dict[str, Any]]:
    from clearway.cli.job_files import maps_of_files
    from clearway.flow.words import read_flow

    found = [read_flow(words) for words in maps_of_files((path,), "workflows")]
    return [
        {"name": s.name, "after": list(s.after), "state": "pending", "until": s.until or None}
        for flow in found
        for s in flow.steps
    ]


@command("cancel")
@FLOW
def _cancel(shell: Shell, flow: str) -> None:
    """Stop what runs of the workflow NAME, and let nothing else of it start."""
    _told(shell, shell.client().cancel_flow(flow), "is told to stop")


@command("resume")
@FLOW
@click.option("--step", help="The step that waits; not needed where only one does.")
@click.option("--value", default="null", help="The answer, as JSON; what is no JSON counts as a text.")
def _resume(shell: Shell, flow: str, step: str | None, value: str) -> None:
    """Answer a step of the workflow NAME that waits for a person (`pause`): it goes on with this value."""
    _told(shell, shell.client().resume_flow(flow, _value(value), step), "goes on")


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


@command("retry")
@FLOW
def _retry(shell: Shell, flow: str) -> None:
    """Run the workflow NAME again, which did not succeed: what has succeeded stays."""
    _told(shell, shell.client().retry_flow(flow), "runs again")


def _told(shell: Shell, row: dict[str, Any], what: str) -> None:
    if shell.as_json:
        shell.document(row)
    else:
        shell.line(f"workflow {row['id']} ({row['name']}) {what}")


for _one in (_run, _list, _show, _graph, _cancel, _resume, _retry):
    flow_command.add_command(_one)
