"""What charts draw between their axes: lines with dashes and marks, outlines, boxes, whiskers, names next to points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup

from recx.report.charts.plane import Pair, Plane
from recx.report.charts.scale import finite, thinned
from recx.report.charts.svg import DASHES, WIDTH, accent, clean, element, line, mark, path_of, text, width_of
from recx.report.terminal.formats import cut

MOST_POINTS = 240
"""Points drawn of a line; a longer one keeps its extremes."""
LONGEST_NAME = 22


def curve(points: Sequence[Pair], series: int, marked: bool) -> Markup:
    """Return a line with the dashes of a series and, if ``marked``, its marks."""
    drawn = line(points, accent(series), stroke_width=2, stroke_dasharray=DASHES[series] or None)
    return drawn + Markup("").join(mark(x, y, series) for x, y in points if marked)


def runs(points: Sequence[Pair], log_x: bool, log_y: bool = False) -> list[list[Pair]]:
    """Return the stretches between gaps, thinned; on a logarithmic axis, what is not above 0 is a gap too."""

    def is_shown(point: Pair) -> bool:
        x, y = point
        return finite(x) and finite(y) and (x > 0 or not log_x) and (y > 0 or not log_y)

    return [list(run) for shown, run in groupby(thinned(points, MOST_POINTS), is_shown) if shown]


def outline(axes: Plane, bins: Sequence[tuple[Pair, float | None]], series: int) -> list[Markup]:
    """Return the lightly filled steps of a histogram; a bin without a count leaves a gap."""
    drawn = []
    for known, run in groupby(bins, lambda counted: finite(counted[1])):
        if known:
            steps = [(x, count or 0.0) for ends, count in run for x in ends]
            closed = [axes.at(point) for point in [(steps[0][0], 0.0), *steps, (steps[-1][0], 0.0)]]
            fill = {"fill": f"var({accent(series)})", "fill_opacity": 0.15, "stroke": "none"}
            drawn += [element("path", d=path_of(closed), **fill), curve(closed, series, marked=False)]
    return drawn


def box(x: float, y: float, width: float, height: float, series: int, title: str | None = None) -> Markup:
    """Return a filled rectangle in the colour of a series; its title is shown on hovering."""
    ink, inside = f"var({accent(series)})", [] if title is None else [element("title", title)]
    return element("rect", *inside, x=x, y=y, width=width, height=height, fill=ink, fill_opacity=0.45, stroke=ink)


def whisker(start: Pair, end: Pair) -> Markup:
    """Return a thin line with short strokes across its ends."""
    across, down = (0, 4) if start[1] == end[1] else (4, 0)
    caps = (line([(x - across, y - down), (x + across, y + down)], "--ink") for x, y in (start, end))
    return Markup("").join([line([start, end], "--ink"), *caps])


def names(axes: Plane, points: Sequence[tuple[str, Pair]]) -> list[Markup]:
    """Return names next to points (in units of the picture), each where it covers no point and no other name.

    A name without such a place is left out: hovering over the mark shows it, and so does the table.
    """
    taken = [(x - 6, y - 6, x + 6, y + 6) for _, (x, y) in points]
    drawn = []
    for name, (x, y) in points:
        width = width_of(cut(clean(name), LONGEST_NAME))
        before, after = x - 12 - width, x + 10
        for left, base in ((before, y - 5), (after, y + 17), (after, y - 5), (before, y + 17), (x - width / 2, y - 16)):
            area = (left, base - 11, left + width, base + 3)
            inside = axes.x.start <= area[0] and area[2] <= WIDTH and area[1] >= 16 and area[3] <= axes.y.start
            if inside and not any(_overlap(area, other) for other in taken):
                taken.append(area)
                drawn.append(text(left, base, name, longest=LONGEST_NAME, halo=True))
                break
    return drawn


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
