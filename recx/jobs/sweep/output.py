"""A sweep for people: its table on the console, as CSV, and a figure of every setting against the objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
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

Columns = Mapping[str, Sequence[Any]]


def print_sweep(console: Console, columns: Columns, objective: str, folder: Path) -> None:
    """Print the trials, the best first, at most 40 of them, and where all of them are."""
    shown = {name: _cells(name, values[:MOST_ROWS]) for name, values in columns.items()}
    if not any(columns["reason"]):
        del shown["reason"]
    head = [objective if name == "objective" else name for name in shown]
    found = table(head, list(zip(*shown.values(), strict=True)), left=range(len(head)), indent=False)
    parts: list[RenderableType] = ["", found]
    if len(columns["trial"]) > MOST_ROWS:
        parts.append(f"… {len(columns['trial']) - MOST_ROWS} more")
    known = [value for value in columns["objective"] if value == value]
    if len(known) > 1:
        spread = f"mean {mean(known):.4f}, standard deviation {stdev(known):.4f}"
        parts.append(f"{len(known)} trials: {spread}")
    show(console, [*parts, whole(f"table {folder / 'summary' / 'sweep.csv'}")], room(console))


def write_sweep(columns: Columns, objective: str, folder: Path) -> None:
    """Write ``sweep.csv``, and ``sweep.svg`` where there is a setting to draw."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "sweep.csv") as temporary:
        pd.DataFrame(dict(columns)).to_csv(temporary, index=False)
    settings = [name for name in columns if name not in NOT_SETTINGS][:MOST_PANELS]
    if settings and any(value == value for value in columns["objective"]):
        write_text(folder / "sweep.svg", document([_panel(columns, name, objective) for name in settings]))


def _cells(name: str, values: Sequence[Any]) -> list[str]:
    if name in ("objective", "seconds"):
        return [figure(value, digits=4 if name == "objective" else 1) for value in values]
    return [str(value) if name == "reason" else cut(str(value), WIDEST_CELL) for value in values]


def _panel(columns: Columns, name: str, objective: str) -> Chart:
    """Draw one setting against the objective: numbers along an axis, by powers of ten if they span many, else words."""
    trials = [f"trial {trial}" for trial in columns["trial"]]
    rows = list(zip(trials, columns[name], columns["objective"], strict=True))
    given = [(trial, _number(value), height) for trial, value, height in rows if value != ""]
    numbers = [number for _, number, _ in given if number is not None]
    if numbers and len(numbers) == len(given):
        wide = min(numbers) > 0 and max(numbers) > 50 * min(numbers)
        return dots(name, name, objective, list(starmap(Point, given)), log_x=wide)
    words = [str(value) or ABSENT for value in columns[name]]
    names = list(dict.fromkeys(words))
    points = [Point(trial, height, names.index(word)) for word, (trial, _, height) in zip(words, rows, strict=True)]
    return dots(name, objective, name, points, rows=names)


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
