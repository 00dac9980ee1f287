"""A comparison of policies, and what-ifs, for people and programs: tables, JSON, CSV and pages with plots."""

from clearway.observe.report.dump import as_csv, as_json
from clearway.observe.report.page import page
from clearway.observe.report.terminal import PIPE_WIDTH, print_comparison
from clearway.observe.report.whatif_page import whatif_json, whatif_page
from clearway.observe.report.whatif_terminal import print_answer

__all__ = [
    "PIPE_WIDTH", "as_csv", "as_json", "page", "print_answer", "print_comparison", "whatif_json", "whatif_page",
]  # fmt: skip
