"""Whole controllers in storms, from one seed: messages go astray, nodes are lost, and the controller dies anywhere.

python -m clearway.testing.storm seeds --count 10000      random storms
python -m clearway.testing.storm points --store sqlite    one storm, killed at each of its acts in turn
python -m clearway.testing.storm life                     two days of work that comes and goes: nothing grows
"""

from clearway.testing.storm.mortal import Fate
from clearway.testing.storm.storm import Storm, live

__all__ = ["Fate", "Storm", "live"]
