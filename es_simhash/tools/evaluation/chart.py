"""Precision and recall over the limit of a rule, as an SVG: lines, with their intervals as bands."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from es_simhash.tools.evaluation.figures import Figures
    from es_simhash.tools.report.page import Language

_LEFT, _TOP, _WIDTH, _HEIGHT = 56, 44, 560, 280
_STYLE = """
svg, .ground { background: #fff; fill: #fff; }
text { font: 13px system-ui, "Noto Sans CJK SC", sans-serif; fill: #1d2430; } .grid { stroke: #dde2ea; }
.precision { color: #1f5c99; stroke-linecap: round; } .recall { color: #b4550f; stroke-dasharray: 7 4; }
.line { fill: none; stroke: currentColor; stroke-width: 2.5; } .band { fill: currentColor; fill-opacity: .16;
  stroke: currentColor; stroke-opacity: .16; stroke-dasharray: none; }
@media (prefers-color-scheme: dark) { svg, .ground { background: #12161c; fill: #12161c; }
  text { fill: #e4e8ee; } .grid { stroke: #363d4a; }
  .precision { color: #7db3f0; } .recall { color: #f0a264; } }
"""


def chart_of(figures: Mapping[str, Figures], language: Language = "en") -> str:
    """Return the chart of the figures of one rule with different limits, as ``evaluate(…, limits=True)`` gives them.

    Where nothing is found the precision is unknown: its line and its band have a gap there.
    """
    words = ("精确率", "召回率", "95% 置信区间") if language == "zh" else ("precision", "recall", "95 % intervals")
    limits = [name.rpartition("=")[2] for name in figures]
    rule, _, field = next(iter(figures)).rpartition("=")[0].partition(", ")
    xs = [_LEFT + _WIDTH * index / max(1, len(limits) - 1) for index in range(len(limits))]
    made = list(figures.values())
    parts = [f'<rect class="ground" width="{_LEFT + _WIDTH + 40}" height="{_TOP + _HEIGHT + 60}"/>']
    for tick in range(0, 11, 2):
        y = _y(tick / 10)
        parts.append(f'<path class="grid" d="M{_LEFT} {y}H{_LEFT + _WIDTH}"/>')
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end">{tick / 10:.1f}</text>')
    for x, limit in zip(xs, limits, strict=True):
        parts.append(f'<text x="{x:.1f}" y="{_TOP + _HEIGHT + 22}" text-anchor="middle">{limit}</text>')
    parts.append(
        f'<text x="{_LEFT + _WIDTH / 2}" y="{_TOP + _HEIGHT + 46}" text-anchor="middle">{rule}: {field}</text>'
    )
    for at, name in enumerate(("precision", "recall")):
        points = [
            (x, getattr(each, name), *getattr(each, f"{name}_interval")) for x, each in zip(xs, made, strict=True)
        ]
        for known, run in groupby(points, key=lambda point: point[1] is not None):
            if known:
                here, shares, low, high = zip(*run, strict=True)
                edge = [*zip(here, high, strict=True), *reversed([*zip(here, low, strict=True)])]
                parts.append(f'<path class="{name} band" d="M{_points(edge)}Z"/>')
                parts.append(f'<path class="{name} line" d="M{_points(zip(here, shares, strict=True))}h0"/>')
        x = _LEFT + 130 * at
        parts.append(f'<path class="{name} line" d="M{x} 22h28"/><text x="{x + 36}" y="26">{words[at]}</text>')
    parts.append(f'<path class="precision band" d="M{_LEFT + 260} 15h28v14h-28Z"/>')
    parts.append(f'<text x="{_LEFT + 296}" y="26">{words[2]}</text>')
    size = f"0 0 {_LEFT + _WIDTH + 40} {_TOP + _HEIGHT + 60}"
    title = f"{words[0]}, {words[1]}: {rule}, {field}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img"><title>{title}</title>'
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>\n"
    )


def _y(share: float) -> float:
    return round(_TOP + _HEIGHT * (1 - share), 1)


def _points(points: Iterable[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {_y(share)}" for x, share in points)
