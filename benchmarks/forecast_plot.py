"""Pictures of the scores, as one page in `out/forecast/`: losses beside the rivals', and coverage by past and month."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clearway.observe.report import svg

if TYPE_CHECKING:
    from clearway.forecast.scores import Scores

OUT = Path(__file__).resolve().parents[1] / "out" / "forecast"
WIDTH, ROW, NAME_ROOM, GAP, TOP, BOTTOM = 980.0, 26.0, 90.0, 40.0, 44.0, 30.0
OURS = "forecast"
READING = "Dot: all jobs. Bar: from the lowest to the highest month. Shaded: three points around what is promised."
COLOURS = {"forecast": "#2563eb", "last": "#d97706", "median": "#059669", "group": "#7c3aed", "estimate": "#dc2626"}
STYLE = """
body{font:14px system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#1f2937;background:#fff}
svg{width:100%;height:auto} text{font-size:12px;fill:#374151} .rule{stroke:#e5e7eb} .meant{stroke:#9ca3af}
.band{fill:#2563eb22} .range{stroke:#2563eb;stroke-width:5;stroke-linecap:round;opacity:.45}
@media(prefers-color-scheme:dark){body{background:#111827;color:#e5e7eb}text{fill:#d1d5db}.rule{stroke:#374151}}
""" + "".join(f".{name}{{fill:{colour}}}" for name, colour in COLOURS.items())


def draw(found: dict[str, dict[str, Scores]]) -> Path:
    """Write the page."""
    OUT.mkdir(parents=True, exist_ok=True)
    parts = [
        "<h1>Forecasts of run times</h1><h2>Pinball loss of the logarithm (left is better)</h2>",
        _losses({name: {who: s.pinball for who, s in by.items()} for name, by in found.items()}),
        "<h2>Median error of the logarithm (left is better)</h2>",
        _losses({name: {who: s.log_error for who, s in by.items()} for name, by in found.items()}),
        f"<h2>Runs inside their interval</h2><p>{READING}</p>",
        _coverage({name: by[OURS] for name, by in found.items()}),
    ]
    page = OUT / "run-times.html"
    page.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Forecasts of run times</title>"
        f"<style>{STYLE}</style>{''.join(parts)}</html>"
    )
    return page


def _losses(by_past: dict[str, dict[str, float]]) -> str:
    most = max(loss for by in by_past.values() for loss in by.values())
    height = TOP + ROW * len(by_past) + BOTTOM

    def x(loss: float) -> float:
        return NAME_ROOM + loss / most * (WIDTH - NAME_ROOM - GAP)

    parts = _names(list(by_past))
    for at, (who, _) in enumerate(COLOURS.items()):
        place = NAME_ROOM + at * 110
        parts += [svg.dot((place, 12), 6, who), svg.text((place + 12, 16), who)]
    for tick in range(5):
        loss = most * tick / 4
        parts += [svg.line((x(loss), TOP - 12), (x(loss), height - BOTTOM))]
        parts += [svg.text((x(loss), height - 10), f"{loss:.2f}", "", "middle")]
    for row, (name, by) in enumerate(by_past.items()):
        y = TOP + ROW * (row + 0.5)
        parts += [svg.dot((x(by[who]), y), 8 if who == OURS else 5, who, f"{name} {who}: {by[who]:.3f}")
                  for who in reversed(COLOURS)]  # fmt: skip
    return svg.picture(WIDTH, height, parts, "losses by past")


def _coverage(by_past: dict[str, Scores]) -> str:
    height, column = TOP + ROW * len(by_past) + BOTTOM, (WIDTH - NAME_ROOM - GAP) / 2
    parts = _names(list(by_past))
    for at, (interval, meant) in enumerate((("80", 80.0), ("95", 95.0))):
        left, low, high = NAME_ROOM + at * column + GAP / 2, meant - 20, 100.0

        def x(share: float, left: float = left, low: float = low, high: float = high) -> float:
            return left + (max(share, low) - low) / (high - low) * (column - GAP)

        parts += [
            svg.text((x(meant), 16), f"{interval} % interval", "", "middle"),
            svg.rect((x(meant - 3), TOP - 8), (x(meant + 3) - x(meant - 3), height - TOP - BOTTOM + 8), "band"),
            svg.line((x(meant), TOP - 8), (x(meant), height - BOTTOM), "meant"),
        ]
        parts += [svg.text((x(share), height - 10), f"{share:.0f}", "", "middle") for share in (low, meant, high)]
        for row, (name, scores) in enumerate(by_past.items()):
            y, ends, all_jobs = TOP + ROW * (row + 0.5), scores.months[interval], scores.coverage[interval]
            parts += [
                svg.line((x(ends[0]), y), (x(ends[1]), y), "range"),
                svg.dot(
                    (x(all_jobs), y), 5, OURS, f"{name}: {all_jobs:.1f} %, months {ends[0]:.0f} to {ends[1]:.0f} %"
                ),
            ]
    return svg.picture(WIDTH, height, parts, "runs inside their intervals by past")


def _names(names: list[str]) -> list[str]:
    return [svg.text((0, TOP + ROW * (row + 0.5) + 4), name) for row, name in enumerate(names)]
