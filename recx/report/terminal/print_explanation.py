"""Prints why a run recommended what it did to a user, and which users its ranker served worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.experiment.contributions import PLUS
from recx.report.terminal.formats import ABSENT
from recx.report.terminal.text_table import cut, room, section, show, table, whole, width_of

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from recx.experiment.explain import Explanation, Frame

EVENTS = 10
"""Events of the history that are shown, the newest."""
LONGEST_NAME, LONGEST_TEXT = 28, 300
"""Columns of names and texts; JSON contains them in full."""
WIDEST_TABLE = 200


def print_explanation(console: Console, explanation: Explanation, top: int) -> None:
    """Print the history, the ranks of the targets, the first candidates with their sources, and the contributions.

    Args:
        console: Where to print.
        explanation: What to print.
        top: Candidates to show in addition to the targets.
    """
    history, candidates = explanation.history, dict(explanation.candidates)
    events = [f"  {_moment(time)}{item}" for time, item in zip(history["time"], history["item"], strict=True)]
    grades = candidates.pop("target")
    rows = [n for n, grade in enumerate(grades) if n < top or grade > 0]
    marks = {"": ["*" if grade > 0 else "" for grade in grades]}
    text = cut(" ".join(explanation.text.split()), LONGEST_TEXT)
    parts = [
        Text(f"user {explanation.user}", "bold"),
        *([f"  {text}"] if text else []),
        *("", Text(f"history: {len(events):,} events{', the newest' if len(events) > EVENTS else ''}", "bold")),
        *map(whole, events[:EVENTS]),
        *section("targets", [whole(f"  {target}") for target in _targets(explanation.targets)]),
        *section(f"candidates: {len(grades):,}, targets marked *", _table(console, {**marks, **candidates}, rows)),
    ]
    if explanation.contributions:
        moved = {**marks, "rank": candidates["rank"], "item": candidates["item"], **explanation.contributions}
        parts += section("contributions to the score: weight x standardised feature", _table(console, moved, rows))
        parts += [whole(f"  added up, being collinear: {name}") for name in explanation.contributions if PLUS in name]
    show(console, parts, min(console.width, WIDEST_TABLE))


def print_worst(console: Console, worst: Frame) -> None:
    """Print one row per user: the ranks of the target, the item ranked first and the features that caused it."""
    shown = {name: _cells(column) for name, column in worst.items() if name != "pulled_down"}
    left = [*_left([worst[name] for name in shown]), len(shown)]
    shown["pulled_down"] = [
        ", ".join(f"{name} {by:+.2f}" for name, by in pull.items()) for pull in worst["pulled_down"]
    ]
    title = Text(f"{len(worst['user']):,} users whose target was retrieved and ranked furthest down", "bold")
    show(console, [title, table(list(shown), list(zip(*shown.values(), strict=True)), left=left)], room(console))


def _targets(targets: Frame) -> list[str]:
    found = []
    for item, grade, retrieved, rank in zip(*targets.values(), strict=True):
        graded = "" if grade == 1 else f" (grade {grade:g})"
        outcome = "lost in retrieval" if rank is None else f"retrieved at rank {retrieved}, shown at rank {rank}"
        found.append(f"{item}{graded}: {outcome}")
    return found or ["none known"]


def _table(console: Console, columns: Mapping[str, Sequence[Any]], rows: Sequence[int]) -> list[RenderableType]:
    """Return the chosen rows of as many columns as fit side by side, and the names of the others."""
    chosen = [[column[row] for row in rows] for column in columns.values()]
    cells, left, names = [*map(_cells, chosen)], _left(chosen), [cut(name, LONGEST_NAME) for name in columns]
    limit = min(console.width, WIDEST_TABLE)
    for fitting in range(len(names), 2, -1):
        made = table(names[:fitting], [*zip(*cells[:fitting], strict=True)], left=left)
        if width_of(made, console) <= limit:
            break
    rest = names[fitting:]
    more = [f"  and {len(rest)} more, which --json shows: {cut(', '.join(rest), limit - 40)}"] if rest else []
    return [made, *more]


def _left(columns: Sequence[Sequence[Any]]) -> list[int]:
    """Return the indices of the columns that contain names."""
    return [place for place, values in enumerate(columns) if any(isinstance(value, str) for value in values)]


def _cells(values: Sequence[Any]) -> list[str]:
    """Return a column as text; floats have no decimals if all are integers."""
    whole_numbers = all(value.is_integer() for value in values if isinstance(value, float))

    def cell(value: Any) -> str:
        if value is None:
            return ABSENT
        if isinstance(value, float):
            return f"{value:,.{0 if whole_numbers or abs(value) >= 1000 else 3}f}"
        return cut(" ".join(str(value).split()), LONGEST_NAME)

    return [cell(value) for value in values]


def _moment(time: int | None) -> str:
    if time is None:
        return ""
    try:
        return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d %H:%M:%S}  "
    except (OverflowError, ValueError, OSError):  # a time outside the years 1 to 9999
        return f"{time} ms  "
