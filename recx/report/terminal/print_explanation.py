"""Prints why a run showed a user what it did, and whom its ranker served worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.report.terminal.formats import ABSENT
from recx.report.terminal.text_table import cut, room, section, show, table, whole, width_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from recx.experiment.explain import Explanation, Frame

EVENTS = 10
"""Events of the history that are shown, the newest."""
LONGEST_NAME, LONGEST_TEXT = 28, 300
"""A name or a text is shown up to here; JSON has all of it."""
WIDEST_TABLE = 200


def print_explanation(console: Console, explanation: Explanation, top: int) -> None:
    """Print the history, where the targets stand, the first candidates with what the sources say, and contributions."""
    history, candidates = explanation.history, dict(explanation.candidates)
    events = [f"  {_moment(time)}{item}" for time, item in zip(history["time"], history["item"], strict=True)]
    grades = candidates.pop("target")
    rows = [n for n, grade in enumerate(grades) if n < top or grade > 0]
    marks = {"": ["*" if grade > 0 else "" for grade in grades]}
    moved = {**marks, "rank": candidates["rank"], "item": candidates["item"], **explanation.contributions}
    text = cut(" ".join(explanation.text.split()), LONGEST_TEXT)
    parts = [
        Text(f"user {explanation.user}", "bold"),
        *([f"  {text}"] if text else []),
        *("", Text(f"history: {len(events):,} events{', the newest' if len(events) > EVENTS else ''}", "bold")),
        *map(whole, events[:EVENTS]),
        *section("targets", [whole(f"  {line}") for line in _targets(explanation.targets)]),
        *section(f"candidates: {len(grades):,}, the targets marked *", _table(console, {**marks, **candidates}, rows)),
    ]
    if explanation.contributions:
        title = "contributions to the score: weight x standardised feature"
        parts += section(title, _table(console, moved, rows))
    show(console, parts, min(console.width, WIDEST_TABLE))


def print_worst(console: Console, worst: Frame) -> None:
    """Print a line a user whom the ranker lost: where the target stood, what came first and which features did it."""
    n = len(worst["user"])
    shown = {name: _cells(column) for name, column in worst.items() if name != "pulled_down"}
    left = [*_left([worst[name] for name in shown]), len(shown)]
    shown["pulled_down"] = [
        ", ".join(f"{name} {by:+.2f}" for name, by in pull.items()) for pull in worst["pulled_down"]
    ]
    title = Text(f"{n:,} users whose target was retrieved and ranked furthest down", "bold")
    show(console, [title, table(list(shown), list(zip(*shown.values(), strict=True)), left=left)], room(console))


def _targets(targets: Frame) -> list[str]:
    lines = []
    for item, grade, retrieved, rank in zip(*targets.values(), strict=True):
        graded = "" if grade == 1 else f" (grade {grade:g})"
        where = "lost in retrieval" if rank is None else f"retrieved at rank {retrieved}, shown at rank {rank}"
        lines.append(f"{item}{graded}: {where}")
    return lines or ["none that is known"]


def _table(console: Console, columns: Mapping[str, Sequence[Any]], rows: Sequence[int]) -> list[RenderableType]:
    """Return the chosen rows of as many columns as fit side by side, and the names of the others."""
    chosen = [[column[row] for row in rows] for column in columns.values()]
    cells, left, names = [*map(_cells, chosen)], _left(chosen), list(columns)
    limit = min(console.width, WIDEST_TABLE)
    for fitting in range(len(names), 2, -1):
        made = table(names[:fitting], [*zip(*cells[:fitting], strict=True)], left=left)
        if width_of(made, console) <= limit:
            break
    rest = names[fitting:]
    told = f"  and {len(rest)} more, which --json shows: {cut(', '.join(rest), limit - 40)}"
    return [made, told] if rest else [made]


def _left(columns: Sequence[Sequence[Any]]) -> list[int]:
    """Return the places of the columns that hold names."""
    return [place for place, values in enumerate(columns) if any(isinstance(value, str) for value in values)]


def _cells(values: Sequence[Any]) -> list[str]:
    """Return a column's values as words: whole numbers without decimals where all of them are."""
    numbers = [value for value in values if isinstance(value, float)]
    digits = 0 if all(number.is_integer() for number in numbers) else 3

    def cell(value: Any) -> str:
        if value is None:
            return ABSENT
        if isinstance(value, float):
            return f"{value:,.{digits if abs(value) < 1000 else 0}f}"
        return cut(" ".join(str(value).split()), LONGEST_NAME)

    return [cell(value) for value in values]


def _moment(time: int | None) -> str:
    if time is None:
        return ""
    try:
        return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d %H:%M:%S}  "
    except (OverflowError, ValueError, OSError):  # the data's clock lies outside the years 1 to 9999
        return f"{time} ms  "
