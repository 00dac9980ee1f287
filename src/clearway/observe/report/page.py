"""The comparison as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from clearway.observe.report.colours import OTHER, policy_class, queue_classes
from clearway.observe.report.meanings import MEANINGS, OF_QUEUES
from clearway.observe.report.numbers import plain, seconds
from clearway.observe.report.plot_gantt import excerpt_words, gantt_plot
from clearway.observe.report.plot_pairs import pairs_plot
from clearway.observe.report.plot_sizes import sizes_plot
from clearway.observe.report.plot_use import capacity_words, use_plot, use_top
from clearway.observe.report.plot_waiting import waiting_plot
from clearway.observe.report.style import style
from clearway.observe.report.tables import policies, queues
from clearway.observe.report.terminal import largest_queues
from clearway.sim.results.outcome import labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearway.sim.results.outcome import Comparison

SECOND_US = 1_000_000


def page(comparison: Comparison) -> str:
    """Return the page."""
    names = labels(comparison.outcomes)
    return document(f"{comparison.workload}: {', '.join(names)}", [_head(comparison), *sections(comparison)])


def document(title: str, body: Sequence[str]) -> str:
    """Return an HTML file of a title and what it shows."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style()}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def sections(comparison: Comparison) -> list[str]:
    """Return what a comparison shows below its head: first the figures, then the differences, then the plots."""
    names = labels(comparison.outcomes)
    classes = queue_classes(largest_queues(comparison))
    to_us = max(1, *(o.virtual_us for o in comparison.outcomes))
    return [
        policies(comparison, names),
        _differences(comparison, names),
        _use(comparison, names, classes, to_us),
        _waiting(comparison, names, to_us),
        _sizes(comparison, names),
        _gantt(comparison, names, classes, to_us),
        queues(comparison, names, classes),
        _meanings(queues=len(classes) > 1),
    ]


def _head(comparison: Comparison) -> str:
    first = comparison.outcomes[0]
    jobs, span = plain(first.figures["jobs"]), seconds(first.virtual_us / SECOND_US)
    load = "" if comparison.load == 1 else f", arrivals {comparison.load:g} times as fast"
    lead = (
        f"{jobs} jobs over {span} on {comparison.fleet}{load}. "
        "Replayed by the scheduler that runs live, in virtual time."
    )
    partial = '<p class="partial">Partial: interrupted. The figures hold for what had finished by then.</p>'
    notes = "".join(f"<li>{escape(words)}</li>" for words in (*comparison.damage, *comparison.notes))
    return (
        f"<h1>{escape(comparison.workload)} under {_count(len(comparison.outcomes))}</h1>"
        f'<p class="lead">{escape(lead)}</p>{"" if comparison.complete else partial}'
        f"{f'<ul>{notes}</ul>' if notes else ''}"
    )


def _count(policies: int) -> str:
    return "one policy" if policies == 1 else f"{policies} policies"


def _section(title: str, words: str, content: str) -> str:
    return f'<section><h2>{title}</h2><p class="soft">{words}</p>{content}</section>'


def _key(entries: Sequence[tuple[str, str]]) -> str:
    marks = "".join(f'<span><i class="{cls}"></i>{escape(name)}</span>' for name, cls in entries)
    return f'<div class="key">{marks}</div>'


def _policy_key(names: Sequence[str]) -> str:
    return _key([(name, policy_class(i)) for i, name in enumerate(names)]) if len(names) > 1 else ""


def _queue_key(classes: Mapping[str, str]) -> str:
    entries = [(name, cls) for name, cls in classes.items() if cls != "qx"]
    rest = len(classes) - len(entries)
    return _key([*entries, (f"{OTHER} ({rest} queues)", "qx")] if rest else entries) if len(classes) > 1 else ""


def _differences(comparison: Comparison, names: Sequence[str]) -> str:
    found = [d for d in comparison.differences.values() if d["jobs"]]
    if not found:
        return ""
    words = (
        f"The same jobs, paired: mean difference from {escape(names[0])}, with the interval that holds 95 % of "
        f"{found[0]['blocks']} resampled {found[0]['block']}s. Left of the line is better."
    )
    plot = pairs_plot(comparison.differences, names)
    return _section("Differences", words, f'<div class="card"><figure>{plot}</figure></div>')


def _use(comparison: Comparison, names: Sequence[str], classes: Mapping[str, str], to_us: int) -> str:
    first, top = comparison.outcomes[0], use_top(comparison.outcomes)
    cards = "".join(
        f'<div class="card"><h3><i class="{policy_class(i)}"></i>{escape(name)}</h3>'
        f"<figure>{use_plot(outcome, classes, to_us, top)}</figure></div>"
        for i, (outcome, name) in enumerate(zip(comparison.outcomes, names, strict=True))
    )
    fleet = "The dotted line is the fleet" if top > first.capacity else "The fleet lies far above the plot"
    words = f"What jobs of each queue held. {fleet}: {capacity_words(first)}."
    return _section("Use over time", words, _queue_key(classes) + cards)


def _waiting(comparison: Comparison, names: Sequence[str], to_us: int) -> str:
    if not _anybody_waits(comparison):
        return _section("Waiting over time", "No job waited longer than a moment under any policy.", "")
    plot = waiting_plot(comparison.outcomes, names, to_us)
    content = f'<div class="card">{_policy_key(names)}<figure>{plot}</figure></div>'
    return _section("Waiting over time", "Jobs that have entered and hold nothing yet.", content)


def _anybody_waits(comparison: Comparison) -> bool:
    return any(any(outcome.curves.get("waiting", ())) for outcome in comparison.outcomes)


def _sizes(comparison: Comparison, names: Sequence[str]) -> str:
    if not _anybody_waits(comparison):
        return ""
    unit = "GPUs" if comparison.unit == "gpus" else "CPUs"
    words = f"By {unit} of the whole job: the large dot is the median wait, the small one the 95th percentile."
    plot = sizes_plot(comparison.outcomes, names)
    return _section("Wait by size", words, f'<div class="card">{_policy_key(names)}<figure>{plot}</figure></div>')


def _gantt(comparison: Comparison, names: Sequence[str], classes: Mapping[str, str], to_us: int) -> str:
    if not any(outcome.excerpt.bars for outcome in comparison.outcomes):
        return ""
    shades = classes if len(classes) > 1 else {}
    cards = "".join(
        f'<div class="card"><h3><i class="{policy_class(i)}"></i>{escape(name)}</h3>'
        f"<figure>{gantt_plot(outcome.excerpt, shades)}</figure></div>"
        for i, (outcome, name) in enumerate(zip(comparison.outcomes, names, strict=True))
    )
    colours = "the colours of the queues" if shades else "colours that tell neighbours apart"
    which = excerpt_words(comparison.outcomes[0].excerpt, to_us, len(names))
    words = f"{which}, in {colours}. Rest on a bar for its job."
    return _section("Who held what", escape(words), _queue_key(classes) + cards)


def _meanings(*, queues: bool) -> str:
    shown = [(word, meaning) for word, meaning in MEANINGS if queues or word not in OF_QUEUES]
    entries = "".join(f"<dt>{word}</dt><dd>{meaning}</dd>" for word, meaning in shown)
    return f"<section><h2>What the figures mean</h2><dl>{entries}</dl></section>"
