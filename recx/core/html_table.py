"""Small tables in HTML for notebooks: everything in them is escaped, and colours are the notebook's, dark or light."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from recx.core.metric_names import by_stage
from recx.core.system.screen import visible

HEAD = Markup('<th style="text-align:{}">{}</th>')
CELL = Markup('<td style="text-align:{}">{}</td>')
ROW = Markup("<tr>{}</tr>")
TABLE = Markup("<table><thead>{}</thead><tbody>{}</tbody></table>")
STAGE = Markup('<tr><th style="text-align:left" colspan="{}">{}</th></tr>')


def table(head: Sequence[str], rows: Iterable[Sequence[str]], names: int = 1) -> Markup:
    """Return a table.

    Args:
        head: Names of the columns.
        rows: One text per column.
        names: Number of columns from the left that hold names, not figures.
    """
    return TABLE.format(_row(HEAD, head, names), Markup("").join(_row(CELL, row, names) for row in rows))


def stages(means: Mapping[str, float]) -> Markup:
    """Return a table of figures by full name: a block per stage, a row per metric, a column per cut."""
    blocks = by_stage(means)
    cuts = sorted({cut for rows in blocks.values() for cells in rows.values() for cut in cells})
    body = Markup("")
    for stage, rows in blocks.items():
        body += STAGE.format(len(cuts) + 1, visible(_words(stage))) if stage else ""
        for metric, cells in rows.items():
            shown = (number(cells[cut]) if cut in cells else "" for cut in cuts)
            body += _row(CELL, [_words(metric), *shown], 1)
    return TABLE.format(_row(HEAD, ["", *("uncut" if cut == math.inf else f"at {cut:.0f}" for cut in cuts)], 1), body)


def title(text: str, about: str = "") -> Markup:
    """Return a line with a bold title and what it is about."""
    return Markup("<div><b>{}</b> {}</div>").format(visible(text), visible(about))


def sentences(texts: Iterable[str]) -> Markup:
    """Return sentences as a list; nothing if there are none."""
    listed = Markup("").join(Markup("<li>{}</li>").format(visible(text)) for text in texts)
    return Markup("<ul>{}</ul>").format(listed) if listed else listed


def number(value: float, sign: str = "") -> str:
    """Return a figure with four decimals, a count or one from 1,000 on with none; "–" if it does not exist."""
    if not math.isfinite(value):
        return "–"
    whole = abs(value) >= 1000 or (value == round(value) and abs(value) > 1)
    return f"{value:{sign},.0f}" if whole else f"{value:{sign}z.4f}"


def _row(cell: Markup, texts: Sequence[str], names: int) -> Markup:
    shown = (cell.format("left" if place < names else "right", visible(text)) for place, text in enumerate(texts))
    return ROW.format(Markup("").join(shown))


def _words(name: str) -> str:
    return name.replace("_", " ")
