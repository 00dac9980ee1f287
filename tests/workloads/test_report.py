"""What people and programs get of a comparison."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from clearway.model.fleet import PolicySpec
from clearway.observe.report import as_csv, as_json, page, print_comparison
from clearway.observe.report.grid import stacked
from clearway.observe.report.numbers import nice_step, percent, plain, seconds, short, ticks, time_ticks
from clearway.observe.report.tables import COLUMNS, cells_of
from clearway.sim.results.comparison import comparison
from clearway.sim.results.replay import Plan, replay
from clearway.sim.results.window import busiest
from clearway.sim.workloads import open_workload
from clearway.sim.workloads.fleets import fleet_for
from clearway.sim.workloads.survey import Survey

if TYPE_CHECKING:
    from pathlib import Path

    from clearway.sim.results.outcome import Comparison

POLICIES = {
    "fifo <none>": PolicySpec(order=("fifo",), backfill="none"),
    "easy & co": PolicySpec(order=("fifo",), backfill="easy", estimate="oracle"),
}
FILES = "muri/cluster_trace.csv.gz", "fgd-openb/openb_pod_list_gpushare60.csv.gz", "gaia-cluster/pai_1k.csv"


@pytest.fixture(scope="module", params=FILES)
def found(request: pytest.FixtureRequest, data: Path) -> Comparison:
    trace = open_workload(data / request.param)
    fleet = fleet_for(trace, Survey.of(trace))
    window = busiest(trace.arrivals(), fleet.nodes)
    plans = [Plan(trace.path, fleet, label, spec, window=window) for label, spec in POLICIES.items()]
    return comparison(trace, plans, [replay(plan) for plan in plans])


def test_the_page_asks_for_nothing_from_outside(found: Comparison) -> None:
    html = page(found)
    assert not re.findall(r"https?:|//\w|src=|@import|url\(|<script|<link|<iframe", html)


def test_every_picture_is_well_formed_and_says_what_it_shows(found: Comparison) -> None:
    pictures = re.findall(r"<svg.*?</svg>", page(found), re.DOTALL)
    assert len(pictures) >= 4
    for text in pictures:
        picture = ET.fromstring(text)  # noqa: S314 - our own output
        assert picture.get("aria-label")
        for element in picture.iter():
            for name in ("x", "y", "width", "height", "cx", "cy"):
                assert float(element.get(name, "0")) == pytest.approx(float(element.get(name, "0")))
            assert float(element.get("width", "0")) >= 0


def test_names_are_escaped(found: Comparison) -> None:
    html = page(found)
    assert "fifo &lt;none&gt;" in html
    assert "<none>" not in html


def test_json_holds_every_figure_as_plain_data(found: Comparison) -> None:
    document = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert list(document["policies"]) == list(POLICIES)
    assert document["differences"]["easy & co"]["jobs"] > 0
    assert not document["partial"]


def test_csv_has_a_row_a_policy_and_queue(found: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    queues = found.outcomes[0].figures["queues"]
    assert len(rows) == len(POLICIES) * (1 + len(queues))
    assert float(rows[0]["wait_mean"]) == found.outcomes[0].figures["wait"]["mean"]


def test_the_table_names_policies_and_fleet(found: Comparison) -> None:
    out = io.StringIO()
    print_comparison(found, Console(file=out, width=400))
    assert "easy & co" in out.getvalue()
    assert found.fleet in out.getvalue()


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_no_number_is_cut_however_narrow_it_is(found: Comparison, width: int) -> None:
    out = io.StringIO()
    print_comparison(found, Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    assert "\N{HORIZONTAL ELLIPSIS}" not in out.getvalue()
    assert all(line == line.rstrip() for line in lines)
    for outcome in found.outcomes:
        wanted = Counter(cells_of(outcome.figures, COLUMNS))
        assert not wanted - Counter(re.split(r"  +", "  ".join(lines)))
    table = [line for line in lines if line.startswith(("wait ", "completion ", "use ", "policy "))]
    assert table
    if width >= 80:
        assert all(len(line) <= width for line in table)


def test_many_policies_are_put_below_one_another() -> None:
    columns = [(f"policy-{i}", ["12.5 min", "3"]) for i in range(12)]
    grids = stacked(["wait", "jobs"], columns, 80)
    assert all(grid.width <= 80 for grid in grids)
    assert sum(len(grid.heads) - 1 for grid in grids) == 12
    assert all(grid.row_lines()[0].count("12.5 min") == len(grid.heads) - 1 for grid in grids)


def test_the_excerpts_of_all_policies_show_the_same_time_and_nodes(found: Comparison) -> None:
    first, *others = (outcome.excerpt for outcome in found.outcomes)
    assert first.bars
    for other in others:
        assert (other.from_us, other.to_us, other.nodes) == (first.from_us, first.to_us, first.nodes)
    for bar in first.bars:
        assert bar.from_us <= first.to_us
        assert bar.to_us >= first.from_us
    html = page(found)
    axes = {
        tuple(re.findall(r'class="tick">([^<]*)<', text))
        for text in re.findall(r"<svg.*?</svg>", html)
        if "held in the excerpt" in text
    }
    assert len(axes) == 1
    assert "The same excerpt for each policy: days " in html


def test_the_meanings_are_those_of_columns_that_are_shown(found: Comparison) -> None:
    html = page(found)
    assert ("<dt>satisfied</dt>" in html) == ("<th>satisfied</th>" in html)


def test_numbers_as_people_read_them() -> None:
    assert [seconds(x) for x in (None, 0, 0.25, 59, 61, 3600, 90061, -7200)] == [
        "\N{EN DASH}", "0 s", "0.25 s", "59 s", "1 min 1 s", "1 h", "1 d 1 h", "\N{MINUS SIGN}2 h",
    ]  # fmt: skip
    assert [short(x) for x in (12, 90, 5400, 100_000)] == ["12 s", "1.5 min", "1.5 h", "1.16 d"]
    assert [plain(x) for x in (0, 1234567, 0.12345, -5.5)] == ["0", "1,234,567", "0.123", "\N{MINUS SIGN}5.5"]
    assert percent(0.1234) == "12.3 %"
    assert [nice_step(span, 5) for span in (1, 7, 30, 0)] == [0.2, 2, 10, 1]
    assert ticks(10, 5) == [0, 2, 4, 6, 8, 10]
    assert [words for _, words in time_ticks(0, 7200 * 10**6, 4)] == ["0:00", "0:30", "1:00", "1:30", "2:00"][::1][:5]
