"""A table of counts as a picture, each shaded by its share of the row."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from recx.report.charts.scale import finite, number
from recx.report.charts.svg import CELL, WIDTH, Chart, element, no_data, table, text, width_of


def matrix(title: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float | None]]) -> Chart:
    """Draw a table of counts, each shaded by its share of the row, which is written below it."""
    if not rows or not columns or not any(finite(value) for row in values for value in row):
        return no_data(title)
    longest = int(0.3 * WIDTH / CELL)
    left = max(min(width_of(name), longest * CELL) for name in rows) + 10
    width, height = (WIDTH - left - 2) / len(columns), 52.0
    room = max(int(width / CELL), 2)
    drawn = [
        text(left + (place + 0.5) * width, 16, name, anchor="middle", ink="--muted", longest=room)
        for place, name in enumerate(columns)
    ]
    for down, (name, row) in enumerate(zip(rows, values, strict=True)):
        top = 24 + down * height
        drawn.append(text(left - 8, top + height / 2 + 5, name, anchor="end", ink="--muted", longest=longest))
        total = sum(value for value in row if finite(value) and value > 0)
        for across, value in enumerate(row):
            share = value / total if finite(value) and value > 0 and total else 0.0
            drawn += _cell(left + across * width, top, width, value, share)
    cells = [[name, *map(number, row)] for name, row in zip(rows, values, strict=True)]
    return Chart(title, 28 + len(rows) * height, drawn, numbers=table(title, ["", *columns], cells))


def _cell(x: float, y: float, width: float, value: float | None, share: float) -> list[Markup]:
    ink: dict[str, object] = {"fill": "var(--accent-1)", "fill_opacity": 0.05 + 0.4 * share}
    shade, middle = element("rect", x=x + 1, y=y + 1, width=max(width - 2, 1.0), height=50, **ink), x + width / 2
    written = text(middle, y + 23, number(value), anchor="middle", longest=max(int(width / CELL), 2))
    if not finite(value) or width < 8 * CELL:
        return [shade, written]
    return [shade, written, text(middle, y + 42, f"{100 * share:.1f} %", anchor="middle")]
