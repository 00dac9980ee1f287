"""Typed reasons in plain English: one table from each code to the function that words it.

Facts may be missing (an older journal knew fewer); a sentence is then shorter, never wrong.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from clearway.model.job import WHOLE
from clearway.model.reasons import Code, Reason
from clearway.model.values import MICROS
from clearway.observe import amounts, flow_words, need_words
from clearway.observe.facts import Facts, escaped

if TYPE_CHECKING:
    from collections.abc import Callable


PART = "part."  # and the name of an order: what it adds to the cost of a job, in thousandths


def sentence(reason: Reason, moment: Callable[[int], str] = amounts.seconds) -> str:
    """Return a reason as one plain English sentence without a full stop.

    `moment` words a time of the driver's clock (microseconds); the default counts seconds from 0.
    """
    return _SENTENCES[reason.code](Facts(reason, moment))


# --- what is asked for ---------------------------------------------------------------------------


def needs(reason: Reason) -> dict[str, float]:
    """Return what one task asks for, by the words and in the units of docs/job.md; empty where it is not said."""
    found: dict[str, float] = {}
    for key, value in reason.facts:
        if not isinstance(value, int):
            continue
        if key in ("gpus", "share"):
            found["gpus"] = found.get("gpus", 0) + _plain(value)
        elif key in ("cpus", "bandwidth"):
            found[key] = _plain(value)
        elif key in ("gpu_memory", "memory", "disk") or key.startswith("res."):
            found[key.removeprefix("res.")] = value
    return found


def _plain(thousandths: int) -> float:
    return thousandths // 1000 if thousandths % 1000 == 0 else thousandths / 1000


def _asked(f: Facts) -> str:
    parts = [*_asked_devices(f), *_asked_others(f)]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts or ["a place"])


def _asked_devices(f: Facts) -> list[str]:
    of = f" of model {_either(f.name('models'))}" if f.has("models") else ""
    memory = amounts.size(f.number("gpu_memory"))
    held = f" with {memory} of GPU memory each" if f.has("gpu_memory") else ""
    if f.number("gpus"):
        return [f"{_count(f.number('gpus'), 'GPU')}{of}{held}{_turns(f.number('colocate'))}"]
    if f.number("share"):
        return [f"{amounts.thousandths(f.number('share'))} of one GPU device{of}{held.removesuffix(' each')}"]
    if f.has("gpu_memory"):
        return [f"{memory} of GPU memory on one device{of}"]
    return []


def _turns(others: int) -> str:
    """Say with how many others a job takes turns on its devices."""
    return f" (shared with up to {others} other{'s' if others > 1 else ''})" if others else ""


def _asked_others(f: Facts) -> list[str]:
    found = [_count(f.number("cpus"), "CPU")] if f.number("cpus") else []
    found += [f"{amounts.size(f.number(k))} of {k}" for k in ("memory", "disk") if f.number(k)]
    found += [f"{amounts.thousandths(f.number('bandwidth'))} Gbit/s of bandwidth"] if f.number("bandwidth") else []
    return found + [f"{v} {escaped(k[4:])}" for k, v in f.reason.facts if k.startswith("res.")]


def _count(milli: int, noun: str) -> str:
    return f"{amounts.thousandths(milli)} {noun}{'' if milli == WHOLE else 's'}"


def _either(names: str) -> str:
    return " or ".join(names.split(", "))


# --- why it waits ----------------------------------------------------------------------------------

_SHORT: dict[str, str] = {
    "wrong_model": "with another GPU model",
    "wrong_label": "without a label that it wants",
    "wrong_spot": "of the wrong kind as to spot",
    "tainted": "with a taint that it does not tolerate",
    "drained": "drained",
    "leaving": "about to be taken away",
    "down": "not heard of",
    "unhealthy": "with unhealthy devices",
    "too_small": "too small even when empty",
    "booting": "on their way",
    "short_gpus": "with too few GPUs free",
    "short_share": "with no device that has enough of it free",
    "short_gpu_memory": "with no device that has enough GPU memory free",
    "short_cpus": "with too few CPUs free",
    "short_memory": "with too little memory free",
    "short_disk": "with too little disk free",
    "short_bandwidth": "with too little bandwidth free",
}
"""How nodes fail, by the name of the fact that counts them."""

_NAMED = {"wrong_label": "wants", "tainted": "taints", "wrong_spot": "spot"}
_CUSTOM = "short_res_"  # and the name of the resource


def _failing(f: Facts) -> str:
    found = []
    for key, phrase in _SHORT.items():
        if f.number(key):
            named = f" ({f.name(_NAMED[key])})" if key in _NAMED and f.has(_NAMED[key]) else ""
            found.append(f"{f.number(key)} {phrase}{named}")
    for key, value in f.reason.facts:
        if key.startswith(_CUSTOM):
            what = key.removeprefix(_CUSTOM)
            found.append(f"{value} with {'no' if what.startswith('slice ') else 'too little'} {escaped(what)} free")
    of = f.number("nodes")
    start = f"; {of} node{'' if of == 1 else 's'}: " if of else "; nodes: "
    return start + ", ".join(found) if found else ""


_DOMAINS = {
    "nvlink": "one NVLink island (linked devices)",
    "pcie": "one PCIe switch (pcie)",
    "numa": "one NUMA side",
    "node": "one node",
    "rack": "one rack",
    "zone": "one zone",
}
"""Domains that a job may require, by the word of its topology."""


def _demand(f: Facts) -> str:
    tasks, role = f.number("tasks"), f"; role {f.name('role')}" if f.has("role") else ""
    where = f"on its pinned node {f.name('pin')}" if f.has("pin") else "on one node"
    domain = _DOMAINS.get(f.name("topology"), "")
    if tasks > 1:
        inside = f", all inside {domain}" if domain else ""
        now = f"; {f.number('fit')} of them fit now{' inside one' if domain else ''}"
        return f"needs {tasks} tasks at once, each with {_asked(f)} {where}{inside}{role}{now}"
    if domain:
        where = f"{where} inside {domain}"
    return f"needs {_asked(f)} {where}{role}"


def _no_capacity(f: Facts) -> str:
    free = ""
    if f.has("most_free_gpus"):
        where = f" on {f.name('best_node')}" if f.has("best_node") else " on any node"
        free = f", {amounts.thousandths(f.number('most_free_gpus'))} free{where}"
    return f"{_demand(f)}{free}{_failing(f)}"


def _never_fits(f: Facts) -> str:
    largest = ""
    if f.number("largest_gpus"):
        largest = f"; the largest node that it could use has {_count(f.number('largest_gpus'), 'GPU')}"
    return f"no node can ever run it: {_demand(f)}{largest}{_failing(f)}"


def _behind(f: Facts) -> str:
    first = f.name("first") if f.reason.get("first") else "another job"
    return f"waits behind {first}, which goes first on the nodes that it could use"


def _reservation(f: Facts) -> str:
    if not f.has("first"):
        return f"has a reservation to start at {f.time('start_us')} on {f.name('node')}"
    place = f" on {f.name('node')}" if f.has("node") else ""
    return f"would delay the reservation of {f.name('first')} to start at {f.time('start_us')}{place}"


def resource_words(resource: str, amount: int) -> str:
    """Return an amount of a resource in the model's units, as people say it."""
    noun = {"gpus": "GPU", "cpus": "CPU"}.get(resource)
    if noun:
        return _count(amount, noun)
    if resource == "bandwidth":
        return f"{amounts.thousandths(amount)} Gbit/s of bandwidth"
    if resource in ("memory", "disk", "gpu_memory"):
        return f"{amounts.size(amount)} of {resource.replace('gpu_memory', 'GPU memory')}"
    return f"{amount} {escaped(resource)}"


def _queue_limit(f: Facts) -> str:
    resource = str(f.reason.get("resource", "gpus"))
    need, used, limit, kept = (resource_words(resource, f.number(k)) for k in ("need", "used", "limit", "kept"))
    if f.has("kept"):
        return f"needs {need}; queue {f.name('queue')} lends nothing, and {kept} stay free for it"
    if f.has("user"):
        whose = f"user {f.name('user')} holds {used} in queue {f.name('queue')}"
        return f"needs {need}; {whose} and may hold at most {limit} there (its limit per user)"
    why = "its guarantee: it does not borrow" if f.has("borrows") else "its limit"
    return f"needs {need}; queue {f.name('queue')} holds {used} and may hold at most {limit} ({why})"


def _slots(f: Facts) -> str:
    held = f", held by {f.name('holders')}" if f.has("holders") else ""
    return f"waits for a slot of the limit {f.name('limit')}: all {f.number('slots')} are in use{held}"


def _after(f: Facts) -> str:
    return f"waits for {f.name('jobs')} to succeed"


def _retry_delay(f: Facts) -> str:
    return f"retry {f.number('tries')} of {f.number('max_retries')} may start at {f.time('until_us')} (retry delay)"


def _no_victim(f: Facts) -> str:
    return f"may stop nobody for it ({f.name('why')})"


def _frozen(f: Facts) -> str:
    return f"{f.name('first')} was stopped for it twice within an hour, and is not again before {f.time('until_us')}"


def _clearing(_: Facts) -> str:
    return "a place is being cleared for it: those who stand there are told to stop"


def _held(f: Facts) -> str:
    return f"is held back by {f.name('by')}" if f.reason.get("by") else "is held back until it is released"


def _array(f: Facts) -> str:
    most = f", at most {f.number('at_once')} at once" if f.number("at_once") else ""
    return f"is an array: its {f.number('jobs')} jobs start one by one, as they fit{most}"


def _booked(f: Facts) -> str:
    times = f" from {f.time('from_us')} to {f.time('to_us')}" if f.has("to_us") else ""
    return f"has room only where booking {f.name('booking')} keeps it for others{times}"


def _ordered(f: Facts) -> str:
    return f"waits for an ordered machine: {f.name('machines')}, ready at {f.time('ready_us')}"


def _machine_limit(f: Facts) -> str:
    if f.has("until_us"):
        again = f"are not tried again before {f.time('until_us')}"
        return f"machines of type {f.name('kind')} could not be ordered, and {again}"
    most = f", which may have {f.number('most')} at most" if f.has("most") else ""
    return f"too few machines may still be ordered of type {f.name('kind')}{most}"


# --- why a machine was ordered or is gone ------------------------------------------------------------


def _needed(f: Facts) -> str:
    if f.has("least"):
        return f"at least {f.number('least')} of its type are to be there"
    return f"{f.name('first')} waits and finds no other place"


def _idle(f: Facts) -> str:
    return f"nobody needed the machine for {f.span('idle_us')}"


def _not_needed(_: Facts) -> str:
    return "the order was taken back: nobody counts on the machine any more"


def _boot_timeout(f: Facts) -> str:
    return f"the machine had not come {f.span('timeout_us')} after its order"


def _order_failed(f: Facts) -> str:
    return f"the order of the machine failed: {f.name('error', 'the provider does not say why')}"


# --- why it started ----------------------------------------------------------------------------------


def _placed(f: Facts) -> str:
    return f"was next in order{_weighed(f)} and fits on {f.name('nodes')}"


def _weighed(f: Facts) -> str:
    """Word what each of several orders had to say, where they are weighed."""
    parts = {key.removeprefix(PART): f.number(key) for key, _ in f.reason.facts if key.startswith(PART)}
    told = " + ".join(f"{escaped(name)} {amounts.thousandths(parts[name])}" for name in sorted(parts))
    return f" (cost {amounts.thousandths(sum(parts.values()))} = {told})" if parts else ""


def _backfilled(f: Facts) -> str:
    promised = f"of {f.name('first')} at {f.time('start_us')}" if f.has("first") else "of others"
    return f"fits on {f.name('nodes')} without touching the reservation {promised} (backfill){_weighed(f)}"


def _inherited(f: Facts) -> str:
    raised = f"raised to priority {f.number('priority')} by {f.name('first')}, which waits for it"
    return f"fits on {f.name('nodes')} and was {raised}{_weighed(f)}"


def _grown(f: Facts) -> str:
    tasks = f.number("tasks")
    return f"grows by {tasks} task{'' if tasks == 1 else 's'} into what no waiting job can use"


# --- why it ended ------------------------------------------------------------------------------------


def _exited(f: Facts) -> str:
    return _own_ending(f)


def _own_ending(f: Facts) -> str:
    ending = _ending(f.number("exit_code"))
    return f"ran out of memory: {ending}" if f.has("oom") else ending


def _ending(code: int) -> str:
    """Word an exit code; a negative one is the signal that ended the process."""
    if code >= 0:
        return f"exited with code {code}"
    known = {int(one): one.name for one in signal.Signals}
    return f"was ended by signal {-code}" + (f" ({known[-code]})" if -code in known else "")


def _cancelled(f: Facts) -> str:
    return f"was cancelled by {f.name('by')}" if f.reason.get("by") else "was cancelled"


_CAUSES = {
    "priority": "which has a higher priority ({priority})",
    "reclaim": "whose queue takes back what it is guaranteed",
    "fair": "whose queue is further below its fair share",
    "time_slice": "whose turn it is after a time slice",
}


def _preempted(f: Facts) -> str:
    why = _CAUSES.get(str(f.reason.get("cause")), "").format(priority=f.number("priority"))
    lost = f"; {amounts.duration(f.number('lost') // WHOLE)} of device time is lost by it" if f.has("lost") else ""
    return f"makes room for {f.name('first')}{', ' if why else ''}{why}{lost}"


def _requeued(f: Facts) -> str:
    return f"was put back into its queue by {f.name('by')}" if f.reason.get("by") else "was put back into its queue"


def _idle_gpus(f: Facts) -> str:
    return f"its devices did nothing for {f.span('idle_us')}, and others wait for them"


def _budget(f: Facts) -> str:
    bound = ""
    if f.has("gpu_milli_hours"):
        bound = f" of {f.number('gpu_milli_hours') / WHOLE:g} GPU-hours"
    elif f.has("cost"):
        bound = f" of {f.number('cost') / MICROS:g}"
    until = f", until {f.time('until_us')}" if f.has("until_us") else ""
    return f"budget {f.name('budget')}{bound} a {f.name('period')} is used up{until}"


def _time_limit(f: Facts) -> str:
    return f"ran for its time limit of {f.span('limit_us')}"


def _deadline(f: Facts) -> str:
    return f"had not succeeded by its deadline, {f.time('deadline_us')}"


def _max_cost(f: Facts) -> str:
    return f"has cost the {f.number('max_cost') / MICROS:g} that it may cost (max_cost)"


def _start_deadline(f: Facts) -> str:
    return f"had not started by its start deadline, {f.span('limit_us')} after its submit"


def _node_lost(f: Facts) -> str:
    lease = f" for the lease of {f.span('lease_us')}" if f.has("lease_us") else ""
    return f"node {f.name('node')} was lost: not heard of{lease}"


def _spot_notice(f: Facts) -> str:
    return f"node {f.name('node')} is taken away by its provider at {f.time('gone_us')}"


def _start_failed(f: Facts) -> str:
    return f"could not be started: {f.name('error', 'no error was told')}"


def _exit_unknown(_: Facts) -> str:
    return "ended while nobody saw it, so its exit code is unknown (counts as a loss)"


def _retries_used_up(f: Facts) -> str:
    tries, most = f.number("tries"), f.number("max_retries")
    code = f"{_failure(f)}; " if f.has("exit_code") or f.has("limit_us") or f.has("error") else ""
    if not most:
        return f"{code}failed, and has no retries (max_retries 0)"
    return f"{code}failed {_times(tries)}, which uses up its retries (max_retries {most})"


def _failure(f: Facts) -> str:
    if f.has("limit_us"):
        return _time_limit(f)
    return _start_failed(f) if f.has("error") else _own_ending(f)


def _not_retried(f: Facts) -> str:
    return f"{_ending(f.number('exit_code'))}, which is not tried again (retry_on {f.name('retry_on')})"


def _losses_used_up(f: Facts) -> str:
    losses, most = f.number("losses"), f.number("max_losses")
    node = f"node {f.name('node')} was lost; " if f.reason.get("node") else ""
    return f"{node}it lost its place {_times(losses)}, more than it survives (max_losses {most})"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _retry_window(f: Facts) -> str:
    return f"its retry window of {f.span('window_us')} after its first start is over"


def _dependency(f: Facts) -> str:
    return f"needs {f.name('job')} to succeed, which is {f.name('state', 'over')}"


def _indices(f: Facts) -> str:
    found = [f"{f.number(how)} {how}" for how in ("failed", "cancelled") if f.number(how)]
    which = f.name("named")
    named = f" (failed: {'indices' if ',' in which else 'index'} {which})" if f.reason.get("named") else ""
    return f"of its {f.number('of')} jobs {' and '.join(found)}{named}"


def _bad_value(f: Facts) -> str:
    return f"{f.name('field')}: {f.name('value')} is refused: {f.name('rule')}"


_SENTENCES: dict[Code, Callable[[Facts], str]] = {
    Code.NO_CAPACITY: _no_capacity,
    Code.NEVER_FITS: _never_fits,
    Code.BEHIND: _behind,
    Code.RESERVATION: _reservation,
    Code.QUEUE_LIMIT: _queue_limit,
    Code.SLOTS: _slots,
    Code.AFTER: _after,
    Code.RETRY_DELAY: _retry_delay,
    Code.NO_VICTIM: _no_victim,
    Code.CLEARING: _clearing,
    Code.FROZEN: _frozen,
    Code.HELD: _held,
    Code.BOOKED: _booked,
    Code.ORDERED: _ordered,
    Code.MACHINE_LIMIT: _machine_limit,
    Code.NEEDED: _needed,
    Code.IDLE: _idle,
    Code.NOT_NEEDED: _not_needed,
    Code.BOOT_TIMEOUT: _boot_timeout,
    Code.ORDER_FAILED: _order_failed,
    Code.ARRAY: _array,
    Code.ARRAY_TURN: lambda _: "waits behind others of its array, of which a few at a time stand in the line",
    Code.INHERITED: _inherited,
    Code.GROWN: _grown,
    Code.PREEMPTED: _preempted,
    Code.REQUEUED: _requeued,
    Code.BUDGET: _budget,
    Code.IDLE_GPUS: _idle_gpus,
    Code.PLACED: _placed,
    Code.BACKFILLED: _backfilled,
    Code.EXITED: _exited,
    Code.CANCELLED: _cancelled,
    Code.TIME_LIMIT: _time_limit,
    Code.DEADLINE: _deadline,
    Code.MAX_COST: _max_cost,
    Code.START_DEADLINE: _start_deadline,
    Code.NODE_LOST: _node_lost,
    Code.SPOT_NOTICE: _spot_notice,
    Code.START_FAILED: _start_failed,
    Code.EXIT_UNKNOWN: _exit_unknown,
    Code.RETRIES_USED_UP: _retries_used_up,
    Code.NOT_RETRIED: _not_retried,
    Code.LOSSES_USED_UP: _losses_used_up,
    Code.RETRY_WINDOW: _retry_window,
    Code.DEPENDENCY: _dependency,
    Code.INDICES: _indices,
    Code.BAD_VALUE: _bad_value,
    **flow_words.SENTENCES,
    **need_words.SENTENCES,
}
