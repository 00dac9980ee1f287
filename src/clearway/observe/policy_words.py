"""What became of a policy, in words."""

from __future__ import annotations

from clearway.model import policy_events as pe
from clearway.model.values import SECOND_US
from clearway.observe.moments import iso


def policy_told(record: pe.Promoted | pe.RolledBack | pe.GuardEnded) -> tuple[str, str]:
    """Return a title and a sentence for a change of policies."""
    match record:
        case pe.Promoted():
            text = f"by {record.by}; until {iso(record.guard.until_us, 'seconds')} a guard may put it back"
            return f"policy {record.name} is in force in place of {record.before.name}", text
        case pe.RolledBack(worse=None):
            return f"policy {record.name} is in force again", f"by {record.by}"
        case pe.RolledBack(worse=worse) if worse is not None:
            whose = f"of tenant {worse.tenant}" if worse.tenant else "without a tenant"
            waited, would = worse.wait_us // SECOND_US, worse.would_us // SECOND_US
            text = f"{worse.jobs} jobs {whose} waited {waited} s in the mean, under {record.name} it had been {would} s"
            return f"the guard has put policy {record.name} in force again", text
        case _:
            return f"policy {record.name} stays in force", "the time of its guard is over, which has not taken it back"
