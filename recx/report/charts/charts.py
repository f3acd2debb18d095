"""Charts of the report: pure functions from numbers to one ``Chart``, a picture in SVG with its legend and its table.

Colours are CSS custom properties that the page defines (``--ink``, ``--muted``, ``--line``, ``--accent-1`` to
``--accent-6``), so that one picture serves light, dark and paper. Series also differ in dashes and marks. Every picture
comes with a table of its numbers. Missing and infinite numbers leave a gap; everything from the data is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from recx.report.charts.plane import ROW, Pair, Plane, named_plane, plane, square_plane
from recx.report.charts.scale import Scale, alike, finite, number, span
from recx.report.charts.strokes import box, curve, names, outline, runs, whisker
from recx.report.charts.svg import (
    CELL,
    N_STYLES,
    WIDTH,
    Chart,
    element,
    line,
    mark,
    no_data,
    spot,
    table,
    text,
    width_of,
    wrapped,
)

Numbers = Sequence[float | None]

LONGEST_LABEL, LABEL_LINES, LABEL_LINE = int(0.44 * WIDTH / CELL), 3, 15.0
"""Cells of a line of a bar's name, lines of it at most, and units from one to the next."""
MOST_MARKS, MOST_ROWS, MOST_BARS, MOST_NAMED = 25, 60, 40, 16
"""Limits: points of a line with marks; rows of a table; bars drawn; points with their names next to them."""
DOMINATED = "dominated: another is no worse in any respect and better in one"


@dataclass(frozen=True)
class Point:
    """A point of a scatter chart.

    Attributes:
        name: Its name.
        x: Its place on the horizontal axis.
        y: Its place on the vertical axis.
        on_front: Whether it is on the Pareto front.
        low: Lower end of the interval of y; in rows, of x.
        high: Its upper end.
    """

    name: str
    x: float
    y: float
    on_front: bool = False
    low: float | None = None
    high: float | None = None


def lines(
    title: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Sequence[tuple[float, float | None]]],
    *,
    log_x: bool = False,
    log_y: bool = False,
    square: bool = False,
) -> Chart:
    """Draw up to six lines; further ones are in the table only.

    Args:
        title: What the chart shows.
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        series: Points by name of the series.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is.
        square: Whether both axes have the same range and length, with the line y = x.
    """
    given = {name: [(x, float("nan") if y is None else y) for x, y in points] for name, points in series.items()}
    stretches = {name: runs(points, log_x, log_y) for name, points in given.items()}
    shown = [name for name, pieces in stretches.items() if pieces][:N_STYLES]
    places = [point for name in shown for piece in stretches[name] for point in piece]
    if not places:
        return no_data(title)
    xs, ys = [x for x, _ in places], [y for _, y in places]
    axes = square_plane(xs + ys) if square else plane(xs, ys, log_x=log_x, log_y=log_y)
    drawn = axes.frame(x_label, y_label)
    if square:
        ends = [axes.at((end, end)) for end in (axes.x.low, axes.x.high)]
        drawn.append(line(ends, "--muted", stroke_dasharray="3 5"))
    samples = []
    for place, name in enumerate(shown):
        marked = sum(map(len, stretches[name])) <= MOST_MARKS
        for piece in stretches[name]:
            at = [axes.at(point) for point in piece]
            told = [f"{f'{name}, ' if name else ''}{x_label} {number(x)}: {number(y)}" for x, y in piece]
            drawn.append(curve(at, place, marked))
            drawn += [spot("circle", words, cx=x, cy=y, r=6) for (x, y), words in zip(at, told, strict=True)]
        samples.append((_sample(place) + (mark(16, 7, place) if marked else Markup()), name))
    about = f"{x_label} against {y_label}; {', '.join(shown)}."
    numbers = _wide_table(title, x_label, y_label, given)
    return Chart(title, axes.height, drawn, samples if len(shown) > 1 or shown[0] else (), numbers, about)


def bars(
    title: str, labels: Sequence[str], values: Numbers, *, low: Numbers | None = None, high: Numbers | None = None
) -> Chart:
    """Draw the first 40 values as horizontal bars from zero; the table contains all of them.

    Args:
        title: What the chart shows.
        labels: Names of the bars.
        values: Their lengths.
        low: Lower ends of their whiskers.
        high: Upper ends of their whiskers.
    """
    absent = [None] * len(values)
    rows = list(zip(labels, values, low or absent, high or absent, strict=True))
    shown = rows[:MOST_BARS]
    if not any(finite(row[1]) for row in shown):
        return no_data(title)
    names_of = [wrapped(row[0], LONGEST_LABEL, LABEL_LINES) for row in shown]
    left = max(width_of(name) for of_bar in names_of for name in of_bar) + 8
    written = alike(values)
    right = WIDTH - max(map(width_of, written[:MOST_BARS])) - 8
    scale = Scale(*span([end for row in shown for end in row[1:] if finite(end)], zero=True), left, right)
    height = sum(ROW + LABEL_LINE * (len(of_bar) - 1) for of_bar in names_of) + 8
    drawn = [line([(scale.at(0), 2), (scale.at(0), height - 2)], "--muted")]
    top = 4.0
    for place, (label, value, least, most) in enumerate(shown):
        room = ROW + LABEL_LINE * (len(names_of[place]) - 1)
        middle, first = top + room / 2, top + ROW / 2 + 5
        for down, name in enumerate(names_of[place]):
            drawn.append(text(left - 8, first + LABEL_LINE * down, name, anchor="end"))
        drawn.append(text(WIDTH - 2, middle + 5, written[place], anchor="end"))
        if finite(value):
            start, end = sorted((scale.at(0), scale.at(value)))
            drawn.append(box(start, middle - 8, end - start, 16, 0 if value >= 0 else 1))
        reach = ""
        if finite(least) and finite(most):
            drawn.append(whisker((scale.at(least), middle), (scale.at(most), middle)))
            reach = f" ({number(least)} to {number(most)})"
        drawn.append(spot("rect", f"{label}: {number(value)}{reach}", x=0, y=top, width=WIDTH, height=room))
        top += room
    head = ["", "value", *(["low", "high"] if low or high else [])]
    cells = [[label, *map(number, ends[: len(head) - 1])] for label, *ends in rows]
    note = f"The first {MOST_BARS} of {len(rows)} are drawn." if len(rows) > MOST_BARS else ""
    return Chart(title, height, drawn, numbers=table(title, head, cells, note))


def stacked(title: str, parts: Mapping[str, float | None]) -> Chart:
    """Draw one bar of shares that add up to 1; numbers relate its parts to the legend."""
    shares = {name: max(share, 0.0) if finite(share) else 0.0 for name, share in parts.items()}
    whole = max(sum(shares.values()), 1.0)
    if not sum(shares.values()):
        return no_data(title)
    drawn = [element("rect", x=1, y=4, width=WIDTH - 2, height=44, fill="none", stroke="var(--line)")]
    samples, start = [], 1.0
    for place, (name, share) in enumerate(shares.items()):
        width = share / whole * (WIDTH - 2)
        if width > 0:
            drawn.append(box(start, 4, width, 44, place, title=f"{name}: {_share(parts[name])}"))
        if width > 16:
            drawn.append(text(start + width / 2, 31, str(place + 1), anchor="middle"))
        number_of = element("text", str(place + 1), x=19, y=11.5, text_anchor="middle", fill="var(--ink)", font_size=12)
        samples.append((box(9, 0.5, 20, 13, place) + number_of, f"{name}: {_share(parts[name])}"))
        start += width
    cells = [[name, _share(share)] for name, share in parts.items()]
    about = f"{', '.join(map(' '.join, cells))}."
    return Chart(title, 52, drawn, samples, table(title, ["part", "share"], cells), about)


def histogram(title: str, x_label: str, edges: Sequence[float], counts: Mapping[str, Numbers]) -> Chart:
    """Draw up to six outlines over the same bins.

    Args:
        title: What the chart shows.
        x_label: Label of the horizontal axis.
        edges: Borders of the bins [n_bins + 1].
        counts: Counts by name of the series [n_bins each].
    """
    bins = list(pairwise(edges))
    shown = [name for name in counts if any(finite(count) for count in counts[name])][:N_STYLES]
    if not shown or not bins or not all(map(finite, edges)) or edges[-1] <= edges[0]:
        return no_data(title)
    heights = [count for name in shown for count in counts[name] if finite(count)]
    axes = plane([edges[0], edges[-1]], heights, zero=True)
    drawn = axes.frame(x_label, "")
    for place, name in enumerate(shown):
        drawn += outline(axes, list(zip(bins, counts[name], strict=True)), place)
    for row, (start, end) in enumerate(bins):
        told = "; ".join(f"{name} {number(counts[name][row])}" for name in shown)
        left, right = axes.x.at(start), axes.x.at(end)
        size = {"x": left, "y": axes.y.end, "width": right - left, "height": axes.y.start - axes.y.end}
        drawn.append(spot("rect", f"{number(start)} to {number(end)}: {told}", **size))
    samples = [(_sample(place), name) for place, name in enumerate(shown)]
    head = [x_label or "from to", *counts]
    cells = [
        [f"{number(start)} to {number(end)}", *(number(counts[name][row]) for name in counts)]
        for row, (start, end) in enumerate(bins)
    ]
    numbers, about = table(title, head, cells), f"{x_label}; {', '.join(shown)}."
    return Chart(title, axes.height, drawn, samples if len(shown) > 1 else (), numbers, about)


def scatter(title: str, x_label: str, y_label: str, points: Sequence[Point], *, log_x: bool = False) -> Chart:
    """Draw points with their names; those on the front are filled, and steps join those that are optimal in x and y."""
    known = _placed(points, log_x)
    if not known:
        return no_data(title)
    ends = [end for point in known for end in (point.y, point.low, point.high) if finite(end)]
    axes = plane([point.x for point in known], ends, log_x=log_x)
    drawn = [*axes.frame(x_label, y_label), *_front(axes, [(point.x, point.y) for point in known if point.on_front])]
    for point in known:
        x, y = axes.at((point.x, point.y))
        if finite(point.low) and finite(point.high):
            drawn.append(whisker((x, axes.y.at(point.low)), (x, axes.y.at(point.high))))
        drawn.append(mark(x, y, 0 if point.on_front else 1, filled=point.on_front, title=point.name))
    if len(known) <= MOST_NAMED:
        drawn += names(axes, [(point.name, axes.at((point.x, point.y))) for point in known])
    samples = [(mark(16, 7, 0), "on the Pareto front")]
    if not all(point.on_front for point in known):
        samples.append((mark(16, 7, 1, filled=False), DOMINATED))
    cells = [
        [point.name, *map(number, (point.x, point.y, point.low, point.high)), "yes" if point.on_front else "no"]
        for point in points
    ]
    numbers = table(title, ["", x_label, y_label, "low", "high", "on the Pareto front"], cells)
    return Chart(title, axes.height, drawn, samples, numbers, f"{x_label} against {y_label}.")


def dots(
    title: str, x_label: str, y_label: str, points: Sequence[Point], *, log_x: bool = False, rows: Sequence[str] = ()
) -> Chart:
    """Draw points with intervals, their names shown on hovering; with ``rows``, y is an index into these names."""
    known = _placed(points, log_x)
    if not known:
        return no_data(title)
    ends = [end for point in known for end in (point.low, point.high) if finite(end)]
    xs, ys = [point.x for point in known], [point.y for point in known]
    axes = named_plane([*xs, *ends], rows) if rows else plane(xs, [*ys, *ends], log_x=log_x)
    drawn = axes.frame(x_label, y_label)
    for point in known:
        x, y = axes.at((point.x, point.y))
        if finite(point.low) and finite(point.high):
            low, high = (((axes.x.at(end), y) if rows else (x, axes.y.at(end))) for end in (point.low, point.high))
            drawn.append(whisker(low, high))
        drawn.append(mark(x, y, 0, title=point.name))
    return Chart(title, axes.height, drawn, about=f"{x_label} against {y_label}.")


def _placed(points: Sequence[Point], log_x: bool) -> list[Point]:
    return [point for point in points if finite(point.x) and finite(point.y) and (point.x > 0 or not log_x)]


def _front(axes: Plane, best: Sequence[Pair]) -> list[Markup]:
    """Return the steps that join points: the highest y for at most so much of x.

    Points that are on the front because of a third quantity lie off these steps.
    """
    path: list[Pair] = []
    for x, y in sorted(best, key=lambda point: (point[0], -point[1])):
        if path and y > path[-1][1]:
            path.append((x, path[-1][1]))
        if not path or y > path[-1][1]:
            path.append((x, y))
    return [line([axes.at(point) for point in path], "--muted", stroke_dasharray="5 4")] if len(path) > 1 else []


def _wide_table(title: str, x_label: str, y_label: str, series: Mapping[str, Sequence[Pair]]) -> Markup:
    """Return a row for every x and a column for every series; of more than 60 rows, every nth."""
    columns = [dict(points) for points in series.values()]
    xs = sorted({x for column in columns for x in column if finite(x)})
    every = -(-len(xs) // MOST_ROWS) or 1
    cells = [[number(x), *(number(column.get(x)) for column in columns)] for x in xs[::every]]
    note = f"One row in {every} of {len(xs):,}." if every > 1 else ""
    return table(title, [x_label, *(name or y_label for name in series)], cells, note)


def _share(share: float | None) -> str:
    return "–" if not finite(share) else f"{100 * share:.1f} %"


def _sample(series: int) -> Markup:
    return curve([(1, 7), (31, 7)], series, marked=False)
