"""What people get to see of records: reasons in words, timelines, summaries."""

from clearway.observe.summary import Summary
from clearway.observe.timeline import Timeline, job_entry, records_of
from clearway.observe.words import sentence

__all__ = ["Summary", "Timeline", "job_entry", "records_of", "sentence"]
