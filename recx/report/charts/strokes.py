"""What charts draw between their axes: lines with dashes and marks, outlines, boxes, whiskers, names beside points."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from recx.report.charts.plane import Pair, Plane
from recx.report.charts.scale import finite, thinned
from recx.report.charts.svg import DASHES, WIDTH, accent, clean, cut, element, line, mark, text, width_of

MOST_POINTS = 240
"""Points of a line; of more, the extremes are kept."""
LONGEST_NAME = 22


def curve(points: Sequence[Pair], place: int, marked: bool) -> Markup:
    """Return a line with the dashes of a series and, where there are few points, its marks."""
    drawn = line(points, accent(place), stroke_width=2, stroke_dasharray=DASHES[place] or None)
    return drawn + Markup("").join(mark(x, y, place) for x, y in points if marked)


def runs(points: Sequence[Pair], log_x: bool) -> list[list[Pair]]:
    """Return the stretches between gaps, thinned."""
    stretches: list[list[Pair]] = [[]]
    for x, y in thinned(points, MOST_POINTS):
        if finite(x) and finite(y) and (x > 0 or not log_x):
            stretches[-1].append((x, y))
        else:
            stretches.append([])
    return [stretch for stretch in stretches if stretch]


def outline(axes: Plane, bins: Sequence[tuple[Pair, float | None]], place: int) -> list[Markup]:
    """Return the steps of a histogram, filled a little; a bin without a count leaves a gap."""
    stretches: list[list[Pair]] = [[]]
    for (start, end), count in bins:
        if not finite(count):
            stretches.append([])
        else:
            stretches[-1] += [(start, count), (end, count)]
    drawn = []
    for stretch in filter(None, stretches):
        closed = [axes.at(point) for point in [(stretch[0][0], 0.0), *stretch, (stretch[-1][0], 0.0)]]
        path = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in closed)
        drawn.append(element("path", d=path, fill=f"var({accent(place)})", fill_opacity=0.15, stroke="none"))
        drawn.append(line(closed, accent(place), stroke_width=2, stroke_dasharray=DASHES[place] or None))
    return drawn


def box(x: float, y: float, width: float, height: float, place: int, title: str | None = None) -> Markup:
    ink, inside = f"var({accent(place)})", [] if title is None else [element("title", title)]
    return element("rect", *inside, x=x, y=y, width=width, height=height, fill=ink, fill_opacity=0.45, stroke=ink)


def whisker(ends: Sequence[Pair]) -> Markup:
    """Return a thin line with short strokes across its ends."""
    (x, y), (u, v) = ends
    across = (0, 4) if y == v else (4, 0)
    drawn = [line([(x, y), (u, v)], "--ink")]
    for left, top in ends:
        drawn.append(line([(left - across[0], top - across[1]), (left + across[0], top + across[1])], "--ink"))
    return Markup("").join(drawn)


def names(axes: Plane, points: Sequence[tuple[str, Pair]]) -> list[Markup]:
    """Return names beside points (in units of the picture), each where it covers no point and no other name.

    A name that has no such place is left out: pointing at the mark shows it, and so does the table.
    """
    taken = [(x - 6, y - 6, x + 6, y + 6) for _, (x, y) in points]
    drawn = []
    for name, (x, y) in points:
        width = width_of(cut(clean(name), LONGEST_NAME))
        sides = (
            (x - 12 - width, y - 5),
            (x + 10, y + 17),
            (x + 10, y - 5),
            (x - 12 - width, y + 17),
            (x - width / 2, y - 16),
        )
        for left, base in sides:
            box = (left, base - 11, left + width, base + 3)
            inside = axes.x.start <= box[0] and box[2] <= WIDTH and box[1] >= 16 and box[3] <= axes.y.start
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                drawn.append(text(left, base, name, longest=LONGEST_NAME, halo=True))
                break
    return drawn


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
