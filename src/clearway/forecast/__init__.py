"""How long jobs run: distributions that are learnt online, run by run, and held to what they promise. Pure."""

from clearway.forecast.progress import Told, informed, remaining
from clearway.forecast.run_times import RunTimes

__all__ = ["RunTimes", "Told", "informed", "remaining"]
