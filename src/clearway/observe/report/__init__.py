"""A comparison of policies for people and programs: a table, JSON, CSV and a page with plots."""

from clearway.observe.report.dump import as_csv, as_json
from clearway.observe.report.page import page
from clearway.observe.report.terminal import PIPE_WIDTH, print_comparison

__all__ = ["PIPE_WIDTH", "as_csv", "as_json", "page", "print_comparison"]
