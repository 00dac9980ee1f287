"""The answer of a what-if as one HTML file that needs nothing else, and as JSON."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from clearway.observe.report import svg
from clearway.observe.report.dump import as_json
from clearway.observe.report.numbers import MINUS, short, signed
from clearway.observe.report.page import document, sections
from clearway.observe.report.whatif_words import between, casts, caveats, change_of, summary
from clearway.sim.results.groups import as_words

if TYPE_CHECKING:
    from clearway.observe.report.whatif_words import Cast
    from clearway.sim.results.groups import Group
    from clearway.sim.results.verdict import Answer

WIDTH, HEIGHT = 200.0, 22.0
FIGURES = 2
"""So many sections come before who wins and who loses: the figures, and the differences."""
SHADES = {"shorter": "gain", "longer": "loss"}


def whatif_json(answer: Answer) -> dict[str, Any]:
    """Return everything but the plots as plain data; times in seconds."""
    return {
        "read": answer.read, "as_is": answer.base, "changes": list(answer.changes), "summary": summary(answer),
        "seed": answer.seed, "groups": [as_words(group) for group in answer.groups], "fidelity": answer.fidelity,
        "arrivals": dict(vars(answer.came)),
        "warm_up_jobs": answer.first, "caveats": caveats(answer), "comparison": as_json(answer.found),
    }  # fmt: skip


def whatif_page(answer: Answer) -> str:
    """Return the page."""
    shown = sections(answer.found)
    body = [_head(answer), *shown[:FIGURES], _who(answer), *shown[FIGURES:-1], _caveats(answer), shown[-1]]
    return document(_title(answer), body)


def _title(answer: Answer) -> str:
    return f"What if: {'; '.join(change.partition(': ')[0] for change in answer.changes)}"


def _head(answer: Answer) -> str:
    partial = '<p class="partial">Partial: interrupted. The figures hold for what had finished by then.</p>'
    changes = "".join(f"<li>{escape(change)}</li>" for change in answer.changes)
    notes = "".join(f"<li>{escape(words)}</li>" for words in (*answer.found.damage, *answer.found.notes))
    return (
        f"<h1>{escape(_title(answer))}</h1>"
        f'<p class="lead">{escape(summary(answer))}</p>{"" if answer.found.complete else partial}'
        f"<dl><dt>the past</dt><dd>{escape(answer.read)}</dd><dt>as is</dt><dd>{escape(answer.base)}</dd>"
        f"<dt>what if</dt><dd><ul>{changes}</ul></dd></dl>{f'<ul>{notes}</ul>' if notes else ''}"
    )


def _caveats(answer: Answer) -> str:
    listed = "".join(f"<li>{escape(words)}</li>" for words in caveats(answer))
    return f"<section><h2>How far to believe it</h2><ul>{listed}</ul></section>"


def _who(answer: Answer) -> str:
    found = casts(answer)
    if not found:
        return ""
    words = (
        "The change of the time from submit to end, for those whom it changes most; bars are parts of what that time "
        "is as things are, left of the line is sooner. Green and red stand where the interval has zero outside."
    )
    cards = "".join(map(_cast, found))
    return f'<section><h2>Who wins, who loses</h2><p class="soft">{words}</p>{cards}</section>'


def _cast(cast: Cast) -> str:
    ends = [abs(part) for group in cast.groups for part in _parts(group) if part is not None]
    reach = max(ends, default=1.0) * 1.05 or 1.0
    rows = "".join(_row(group, reach) for group in cast.groups)
    more = f'<p class="soft">and {cast.more:,} between them, in the JSON</p>' if cast.more else ""
    heads = (
        f"<th>{cast.title}</th><th>jobs</th><th class=extra>wait as is</th><th class=extra>wait what if</th><th></th>"
        '<th>completion</th><th class="extra">95 %</th><th class="extra">a minute sooner</th>'
        '<th class="extra">later</th>'
    ).replace("<th class=extra>", '<th class="extra">')
    return f'<div class="card wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}</div>'


def _row(group: Group, reach: float) -> str:
    part = _parts(group)[0] or 0.0
    mean = f"{signed(short(group.completion['mean']))} ({signed(f'{100 * part:.0f} %'.replace('-', MINUS))})"
    cells = (
        f'<td class="extra">{short(group.wait_before)}</td><td class="extra">{short(group.wait_after)}</td>'
        f"<td>{_spark(group, reach)}</td><td>{escape(mean)}</td>"
        f'<td class="extra">{escape(between(group.completion))}</td>'
        f'<td class="extra">{group.better:,}</td><td class="extra">{group.worse:,}</td>'
    )
    return f'<tr><td class="name">{escape(group.name)}</td><td>{group.jobs:,}</td>{cells}</tr>'


def _parts(group: Group) -> tuple[float | None, float | None, float | None]:
    """Return the change and its interval as parts of the time that a job takes as things are."""
    whole = group.completion_before or 1.0
    mean, low, high = (group.completion[end] for end in ("mean", "low", "high"))
    return tuple(None if part is None else part / whole for part in (mean, low, high))  # type: ignore[return-value]


def _spark(group: Group, reach: float) -> str:
    """Return the change as a bar from the line of no change, with its interval as a thin line."""
    mean, low, high = _parts(group)

    def x(value: float) -> float:
        return (value / reach + 1) / 2 * WIDTH

    left, right = sorted((x(0), x(mean or 0.0)))
    cls = SHADES.get(group.verdict, "even")
    parts = [svg.line((x(0), 0), (x(0), HEIGHT), "zero"), svg.rect((left, 6), (max(1.0, right - left), 10), cls)]
    if low is not None and high is not None:
        parts.append(svg.line((x(low), HEIGHT / 2), (x(high), HEIGHT / 2), "axis"))
    label = f"{group.name}: {change_of(group)}, {group.verdict}"
    box = f'viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}"'
    return f'<svg class="spark" {box} role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
