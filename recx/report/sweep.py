"""A sweep for people: its table on the console, as CSV, and a figure of every setting against the objective."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.atomic import replacing, write_text
from recx.report.figures import document
from recx.report.page.charts import Point, dots
from recx.report.page.scale import ABSENT
from recx.report.page.svg import Chart

if TYPE_CHECKING:
    from rich.console import Console

WIDEST_CELL, MOST_ROWS, MOST_PANELS = 32, 40, 6
NOT_SETTINGS = ("trial", "objective", "seconds", "cached", "reason")

Columns = Mapping[str, Sequence[Any]]


def print_sweep(console: Console, columns: Columns, objective: str, folder: Path) -> None:
    """Print the trials, the best first, at most 40 of them, and where all of them are."""
    shown = {objective if name == "objective" else name: _cells(name, values) for name, values in columns.items()}
    if not any(columns["reason"]):
        del shown["reason"]
    widths = {name: max(len(name), *map(len, cells), 1) for name, cells in shown.items()}
    console.print()
    console.print(Text("  ".join(f"{name:<{width}}" for name, width in widths.items()).rstrip(), style="bold"))
    n_rows = len(columns["trial"])
    for row in range(min(n_rows, MOST_ROWS)):
        line = "  ".join(f"{cells[row]:<{widths[name]}}" for name, cells in shown.items())
        console.print(Text(line.rstrip()), soft_wrap=True)
    if n_rows > MOST_ROWS:
        console.print(f"… {n_rows - MOST_ROWS} more")
    known = [value for value in columns["objective"] if value == value]
    if len(known) > 1:
        mean = math.fsum(known) / len(known)
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1))
        console.print(f"{len(known)} trials: mean {mean:.4f}, standard deviation {spread:.4f}", highlight=False)
    console.print(f"table {folder / 'summary' / 'sweep.csv'}", soft_wrap=True, highlight=False)


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
    if name == "objective":
        return ["–" if value != value else f"{value:.4f}" for value in values]
    if name == "seconds":
        return [f"{value:.1f}" for value in values]
    texts = [str(value) for value in values]
    return [text if len(text) <= WIDEST_CELL or name == "reason" else f"{text[: WIDEST_CELL - 1]}…" for text in texts]


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
