"""A sweep for people: its table on the console, as CSV, and a figure of every setting against the objective."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console

BLUE = "#2b6cb0"
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
    """Write ``sweep.csv``, and ``sweep.png`` where there is a setting to draw."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "sweep.csv") as temporary:
        pd.DataFrame(dict(columns)).to_csv(temporary, index=False)
    settings = [name for name in columns if name not in NOT_SETTINGS][:MOST_PANELS]
    if settings and any(value == value for value in columns["objective"]):
        _draw(columns, settings, objective, folder / "sweep.png")


def _cells(name: str, values: Sequence[Any]) -> list[str]:
    if name == "objective":
        return ["–" if value != value else f"{value:.4f}" for value in values]
    if name == "seconds":
        return [f"{value:.1f}" for value in values]
    texts = [str(value) for value in values]
    return [text if len(text) <= WIDEST_CELL or name == "reason" else f"{text[: WIDEST_CELL - 1]}…" for text in texts]


def _draw(columns: Columns, settings: Sequence[str], objective: str, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5 * len(settings), 4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(settings), squeeze=False, sharey=True)[0]
    for axes, name in zip(panels, settings, strict=True):
        _panel(axes, columns[name], columns["objective"])
        axes.set_xlabel(name)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(objective)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")


def _panel(axes: Axes, values: Sequence[Any], heights: Sequence[float]) -> None:
    """Draw one setting against the objective: numbers along a scale, by powers of ten if they span many, else words."""
    given = [(_number(value), height) for value, height in zip(values, heights, strict=True) if value != ""]
    numbers = [number for number, _ in given if number is not None]
    if numbers and len(numbers) == len(given):
        axes.scatter(numbers, [height for _, height in given], color=BLUE)
        if min(numbers) > 0 and max(numbers) > 50 * min(numbers):
            axes.set_xscale("log")
        return
    names = list(dict.fromkeys(str(value) or "–" for value in values))
    places = [names.index(str(value) or "–") for value in values]
    axes.scatter(places, heights, color=BLUE)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8 if len(names) <= 12 else 5)


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
