"""The output of a sweep: its table on the console and as CSV, and a chart of every setting against the objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from recx.core.system.atomic import replacing, write_text
from recx.report.charts.charts import Point, dots
from recx.report.charts.figures import document
from recx.report.charts.svg import Chart
from recx.report.terminal.formats import ABSENT, figure
from recx.report.terminal.text_table import cut, room, show, table, whole

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDEST_CELL, MOST_ROWS, MOST_PANELS = 32, 40, 6
NOT_SETTINGS = ("trial", "objective", "seconds", "cached", "reason")
DIGITS = {"objective": 4, "seconds": 1}

Columns = Mapping[str, Sequence[Any]]


def print_sweep(console: Console, columns: Columns, objective: str, folder: Path) -> None:
    """Print the best trials, at most 40 of them, and the path of the whole table.

    Args:
        console: Where to print.
        columns: See ``recx.jobs.sweep.summary.table``.
        objective: The name of the metric that is maximized.
        folder: The folder of the sweep.
    """
    shown = {name: _cells(name, values[:MOST_ROWS]) for name, values in columns.items()}
    if not any(columns["reason"]):
        del shown["reason"]
    head = [objective if name == "objective" else name for name in shown]
    rows = list(zip(*shown.values(), strict=True))
    parts: list[RenderableType] = ["", table(head, rows, left=range(len(head)), indent=False)]
    if len(columns["trial"]) > MOST_ROWS:
        parts.append(f"… {len(columns['trial']) - MOST_ROWS} more")
    known = [value for value in columns["objective"] if value == value]
    if len(known) > 1:
        parts.append(f"{len(known)} trials: mean {mean(known):.4f}, standard deviation {stdev(known):.4f}")
    show(console, [*parts, whole(f"table {folder / 'summary' / 'sweep.csv'}")], room(console))


def write_sweep(columns: Columns, objective: str, folder: Path) -> None:
    """Write ``sweep.csv``, and ``sweep.svg`` if there is a setting to draw.

    Args:
        columns: See ``recx.jobs.sweep.summary.table``.
        objective: The name of the metric that is maximized.
        folder: The folder for the files.
    """
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "sweep.csv") as temporary:
        pd.DataFrame(dict(columns)).to_csv(temporary, index=False)
    settings = [name for name in columns if name not in NOT_SETTINGS][:MOST_PANELS]
    if settings and any(value == value for value in columns["objective"]):
        write_text(folder / "sweep.svg", document([_panel(columns, name, objective) for name in settings]))


def _cells(name: str, values: Sequence[Any]) -> list[str]:
    if name in DIGITS:
        return [figure(value, digits=DIGITS[name]) for value in values]
    return [str(value) if name == "reason" else cut(str(value), WIDEST_CELL) for value in values]


def _panel(columns: Columns, name: str, objective: str) -> Chart:
    """Draw one setting against the objective: numbers on an axis (logarithmic if they span much), else categories."""
    trials = [f"trial {trial}" for trial in columns["trial"]]
    rows = list(zip(trials, columns[name], columns["objective"], strict=True))
    try:
        given = [Point(trial, float(value), height) for trial, value, height in rows if value != ""]
    except ValueError:
        given = []
    if given:
        numbers = [point.x for point in given]
        return dots(name, name, objective, given, log_x=min(numbers) > 0 and max(numbers) > 50 * min(numbers))
    texts = [str(value) or ABSENT for value in columns[name]]
    categories = list(dict.fromkeys(texts))
    points = [
        Point(trial, height, categories.index(text)) for text, (trial, _, height) in zip(texts, rows, strict=True)
    ]
    return dots(name, objective, name, points, rows=categories)
