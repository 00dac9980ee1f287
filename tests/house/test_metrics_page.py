"""Every metric is explained, and alerts and dashboards ask for metrics that exist."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
import yaml

from clearway.control.board import Board
from clearway.control.controller import Controller
from clearway.engines.fake import FakeEngine, ManualClock, Room
from clearway.loop.world import World
from clearway.observe.ears import Ears
from clearway.observe.exposition import Metrics
from clearway.observe.gauges import Gauges
from clearway.store.memory import MemoryJournal
from tests.house.code import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DEPLOY = ROOT / "deploy"
ROW = re.compile(r"^\| `(clearway_\w+)` \| (\w+) \|([^|]*)\|([^|]*)\|([^|]*)\|", re.MULTILINE)
NAME = re.compile(r"\b((?:clearway|process|python)_\w+)")
SUFFIXES = {"counter": ("_total",), "info": ("_info",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}


@cache
def shown() -> dict[str, tuple[str, set[str]]]:
    """Return all metrics by family as they are documented, with their kind and labels."""
    board, clock, journal = Board(), ManualClock(), MemoryJournal()
    controller = Controller(World(), clock, FakeEngine(Room([], clock)), journal, board=board)
    metrics = Metrics(board)
    metrics.add(Gauges(controller, journal, Ears([])))
    found = {}
    for family in metrics.registry.collect():
        suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        found[family.name + suffix] = (family.type, labels)
    return found


def series() -> set[str]:
    return {
        family.removesuffix(_suffix(kind)) + suffix
        for family, (kind, _) in shown().items()
        for suffix in SUFFIXES.get(kind, ("",))
    }


def _suffix(kind: str) -> str:
    return {"counter": "_total", "info": "_info"}.get(kind, "")


def asked(text: str) -> set[str]:
    return set(NAME.findall(text))


def test_every_metric_has_its_line_and_no_other() -> None:
    page = {name: kind for name, kind, *_ in ROW.findall((ROOT / "docs" / "metrics.md").read_text())}
    assert page == {name: kind for name, (kind, _) in shown().items() if name.startswith("clearway_")}


def test_every_line_has_a_unit_and_a_meaning_and_names_the_labels() -> None:
    rows = ROW.findall((ROOT / "docs" / "metrics.md").read_text())
    bare = [name for name, kind, _, unit, said in rows if not said.strip() or not (unit.strip() or kind == "info")]
    assert bare == []
    told = {name: set(re.findall(r"`(\w+)`", labels)) for name, _, labels, *_ in rows}
    assert {name: labels for name, (_, labels) in shown().items() if not labels <= told.get(name, labels)} == {}


def test_alerts_ask_for_metrics_that_exist() -> None:
    (group,) = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
    wrong = {rule["alert"]: asked(rule["expr"]) - series() for rule in group["rules"]}
    assert {name: missing for name, missing in wrong.items() if missing} == {}
    assert {rule["labels"]["severity"] for rule in group["rules"]} == {"critical", "warning", "info"}
    assert all(rule["annotations"]["summary"] for rule in group["rules"])


def test_every_alert_is_tried() -> None:
    tests = yaml.safe_load((DEPLOY / "prometheus" / "alerts.test.yml").read_text())["tests"]
    tried = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case["exp_alerts"]}
    (group,) = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())["groups"]
    assert {rule["alert"] for rule in group["rules"]} == tried


@pytest.mark.parametrize("board", sorted((DEPLOY / "grafana").glob("*.json")), ids=lambda path: path.stem)
def test_dashboards_ask_for_metrics_that_exist(board: Path) -> None:
    document = json.loads(board.read_text())
    panels = document["panels"]
    wrong = {panel["title"]: {m for t in panel["targets"] for m in asked(t["expr"])} - series() for panel in panels}
    assert {name: missing for name, missing in wrong.items() if missing} == {}
    assert len({panel["id"] for panel in panels}) == len(panels)
