"""The judge of scenarios: whether a timeline keeps what `expect` says and the rules that hold in every scenario.

lines = judge(scenario, timeline)     # both as YAML and JSON give them; [] when all holds
"""

from clearway.testing.judge.because import Breach
from clearway.testing.judge.form import check_expect
from clearway.testing.judge.play import judge_file, play, timeline_of
from clearway.testing.judge.same import same
from clearway.testing.judge.untold import untold
from clearway.testing.judge.verdict import EXPECT, RULES, breaches, judge

__all__ = [
    "EXPECT", "RULES", "Breach", "breaches", "check_expect", "judge", "judge_file", "play", "same", "timeline_of",
    "untold",
]  # fmt: skip
