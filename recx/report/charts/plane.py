"""The plane of a chart with two axes: where values lie, and its frame of grid, ticks and axis labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from recx.report.charts.scale import Scale, linear, logarithmic
from recx.report.charts.svg import CELL, WIDTH, clean, line, text, width_of
from recx.report.terminal.formats import cut

TOP, BOTTOM, RIGHT = 30.0, 46.0, 16.0
HEIGHT = 200.0
"""Units between the ends of the vertical axis, unless the plane is a square or has named rows."""
ROW, LONGEST_ROW = 23.0, 20
"""Units from one row to the next; cells of a row's name."""
Pair = tuple[float, float]


@dataclass(frozen=True)
class Plane:
    """Two axes.

    Attributes:
        x: The horizontal axis.
        y: The vertical axis.
        height: Height of the picture in units, axes and labels included.
    """

    x: Scale
    y: Scale
    height: float

    def at(self, point: Pair) -> Pair:
        """Return where a point lies, in units of the picture."""
        return self.x.at(point[0]), self.y.at(point[1])

    def frame(self, x_label: str, y_label: str) -> list[Markup]:
        """Return the grid, the ticks and the labels of the axes; that of the vertical one is above it."""
        x, y = self.x, self.y
        drawn = [line([(x.start, y.at(tick)), (x.end, y.at(tick))]) for tick in y.ticks]
        for tick, label in zip(y.ticks, y.labels(), strict=True):
            drawn.append(text(x.start - 6, y.at(tick) + 5, label, anchor="end", ink="--muted"))
        for tick, label in zip(x.ticks, x.labels(), strict=True):
            place, middle = x.at(tick), min(x.at(tick), WIDTH - width_of(label) / 2)
            drawn.append(line([(place, y.start), (place, y.start + 4)], "--muted"))
            drawn.append(text(middle, y.start + 19, label, anchor="middle", ink="--muted"))
        middle, longest = (x.start + x.end) / 2, int((x.end - x.start) / CELL)
        return [
            *drawn,
            line([(x.start, y.start), (x.end, y.start)], "--muted"),
            text(middle, self.height - 6, x_label, anchor="middle", longest=longest),
            text(2, 14, y_label, longest=int(WIDTH / CELL)),
        ]


def plane(
    xs: Sequence[float], ys: Sequence[float], *, log_x: bool = False, log_y: bool = False, zero: bool = False
) -> Plane:
    """Return a plane that contains all values; with ``zero``, a linear vertical axis starts at zero or below."""
    y = logarithmic(ys, TOP + HEIGHT, TOP) if log_y else linear(ys, TOP + HEIGHT, TOP, zero=zero)
    return Plane(_fitting(logarithmic if log_x else linear, xs, _left(y)), y, TOP + HEIGHT + BOTTOM)


def named_plane(xs: Sequence[float], names: Sequence[str]) -> Plane:
    """Return a plane whose vertical axis has names instead of numbers, the first at the top."""
    end, shown = TOP + ROW * len(names), tuple(cut(clean(name), LONGEST_ROW) for name in names)
    y = Scale(len(names) - 0.5, -0.5, end, TOP, tuple(map(float, range(len(names)))), names=shown)
    return Plane(_fitting(linear, xs, _left(y)), y, end + BOTTOM)


def square_plane(values: Sequence[float]) -> Plane:
    """Return a plane with two equal axes of equal length, from 0 to 1 if all values lie there."""
    ends = [0.0, 1.0] if all(0 <= value <= 1 for value in values) else values
    left = _left(linear(ends, 0, 1))
    side = min(WIDTH - left - RIGHT, 320.0)
    return Plane(linear(ends, left, left + side), linear(ends, TOP + side, TOP), TOP + side + BOTTOM)


def _left(y: Scale) -> float:
    return max(map(width_of, y.labels())) + 12


def _fitting(kind: Callable[..., Scale], values: Sequence[float], left: float) -> Scale:
    """Return the horizontal axis with as many ticks as have room for their labels."""
    for n in (8, 6, 5, 4, 3, 2):
        scale: Scale = kind(values, left, WIDTH - RIGHT, n=n)
        gaps = [after - before for before, after in pairwise(map(scale.at, scale.ticks))]
        if min(gaps) >= max(map(width_of, scale.labels())) + 8:
            break
    return scale
