"""The critical-difference diagram of average ranks.

Source: Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets (Journal of Machine Learning Research 7,
2006), figure 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from recx.report.charts.scale import Scale, number
from recx.report.charts.strokes import whisker
from recx.report.charts.svg import WIDTH, Chart, line, no_data, spot, table, text, width_of
from recx.report.terminal.formats import cut

LONGEST_NAME, MOST_TICKS = 17, 12
"""Cells of a name; whole ranks with a number of their own."""
LENGTH, AXIS, BAR, ROW = 22.0, 62.0, 9.0, 21.0
"""Units from the top to the critical difference and to the axis; from one bar, and from one name, to the next."""


def critical_difference(title: str, ranks: Mapping[str, float], reach: float, groups: Sequence[Sequence[str]]) -> Chart:
    """Draw average ranks on an axis, the best at its right, with bars over groups that are not told apart.

    Args:
        title: What the chart shows.
        ranks: Name -> average rank, the best (1) first.
        reach: The critical difference, drawn at its own length above the axis.
        groups: The names of each group, by rising rank.
    """
    if len(ranks) < 2:
        return no_data(title)
    names = list(ranks)
    right, left = names[: (len(names) + 1) // 2], names[(len(names) + 1) // 2 :][::-1]
    ends = [max(width_of(cut(name, LONGEST_NAME)) for name in side) + 8 for side in (left, right)]
    axis = Scale(len(names), 1, ends[0] + 6, WIDTH - ends[1] - 6)
    drawn = [*_axis(axis, len(names)), *_length(axis, reach)]
    under = AXIS + 8
    for place, group in enumerate(groups):
        best, worst = axis.at(ranks[group[0]]), axis.at(ranks[group[-1]])
        y = under + BAR * place + 4
        drawn.append(line([(worst - 3, y), (best + 3, y)], "--accent-1", stroke_width=4))
        drawn.append(
            spot("rect", f"not told apart: {', '.join(group)}", x=worst - 3, y=y - 4, width=best - worst + 6, height=8)
        )
    first = under + BAR * len(groups) + ROW / 2
    for side, anchor, end in ((left, "end", ends[0]), (right, "start", WIDTH - ends[1])):
        for place, name in enumerate(side):
            x, y = axis.at(ranks[name]), first + ROW * place
            drawn.append(line([(x, AXIS), (x, y), (end - 2 if anchor == "end" else end + 2, y)], "--ink"))
            away = -5 if anchor == "end" else 5
            drawn.append(text(end + away, y + 5, name, anchor=anchor, longest=LONGEST_NAME))
            hover = {"x": 0 if anchor == "end" else x, "y": y - ROW / 2, "height": ROW}
            drawn.append(spot("rect", f"{name}: {ranks[name]:.3f}", width=x if anchor == "end" else WIDTH - x, **hover))
    joined = "; ".join(", ".join(group) for group in groups) or "none"
    numbers = table(title, ["chain", "average rank"], [[name, f"{rank:.3f}"] for name, rank in ranks.items()])
    about = f"Critical difference {number(reach)}. Groups not told apart: {joined}."
    return Chart(title, first + ROW * len(right), drawn, numbers=numbers, about=about)


def _axis(axis: Scale, n: int) -> list[Markup]:
    """Return the line of the axis, a tick for every half rank and a number for whole ones."""
    drawn = [line([(axis.start, AXIS), (axis.end, AXIS)], "--ink")]
    every = -(-n // MOST_TICKS)
    for half in range(2, 2 * n + 1):
        x, whole = axis.at(half / 2), half % 2 == 0
        drawn.append(line([(x, AXIS - (6 if whole else 3)), (x, AXIS)], "--ink"))
        if whole and (half // 2 - 1) % every == 0:
            drawn.append(text(x, AXIS - 10, str(half // 2), anchor="middle", ink="--muted"))
    return drawn


def _length(axis: Scale, reach: float) -> list[Markup]:
    """Return the critical difference as a length, from the left end of the axis, with its name above it."""
    end, words = axis.at(axis.low - reach), f"CD = {reach:.2f}"
    middle = max((axis.start + end) / 2, width_of(words) / 2)
    return [whisker((axis.start, LENGTH), (end, LENGTH)), text(middle, LENGTH - 7, words, anchor="middle")]
