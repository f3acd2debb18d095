"""Prints why a run showed a user what it did, and whom its ranker served worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from recx.explanation import Explanation, Frame

EVENTS = 10
"""Events of the history that are shown, the newest."""
LONGEST_NAME, LONGEST_TEXT = 28, 300
"""A name or a text is shown up to here; JSON has all of it."""
WIDEST_TERMINAL = 200


def print_explanation(console: Console, explanation: Explanation, top: int) -> None:
    """Print the history, where the targets stand, the first candidates with what the sources say, and contributions."""
    _say(console, f"user {explanation.user}", bold=True)
    if explanation.text:
        _say(console, f"  {_cut(' '.join(explanation.text.split()), LONGEST_TEXT)}")
    n_events = len(explanation.history["item"])
    _say(console, f"\nhistory: {n_events:,} events{', the newest' if n_events > EVENTS else ''}", bold=True)
    for time, item in list(zip(explanation.history["time"], explanation.history["item"], strict=True))[:EVENTS]:
        _say(console, f"  {_moment(time)}{item}")
    _say(console, "\ntargets", bold=True)
    for line in _targets(explanation.targets):
        _say(console, f"  {line}")
    candidates = explanation.candidates
    rows = [n for n, target in enumerate(candidates["target"]) if n < top or target > 0]
    _say(console, f"\ncandidates: {len(candidates['rank']):,}, the targets marked *", bold=True)
    marked = ["*" if target > 0 else "" for target in candidates["target"]]
    table = {name: column for name, column in candidates.items() if name != "target"}
    _print_table(console, {"": marked, **table}, rows)
    if explanation.contributions:
        _say(console, "\ncontributions to the score: weight x standardised feature", bold=True)
        head = {"": marked, "rank": candidates["rank"], "item": candidates["item"]}
        _print_table(console, {**head, **explanation.contributions}, rows)


def print_worst(console: Console, worst: Frame) -> None:
    """Print a line a user whom the ranker lost: where the target stood, what came first and which features did it."""
    n = len(worst["user"])
    _say(console, f"{n:,} users whose target was retrieved and ranked furthest down", bold=True)
    pulled = [", ".join(f"{name} {by:+.2f}" for name, by in features.items()) for features in worst["pulled_down"]]
    table = {name: column for name, column in worst.items() if name != "pulled_down"}
    _print_table(console, table, range(n), after=["pulled_down", *pulled])


def _targets(targets: Frame) -> list[str]:
    lines = []
    for item, grade, retrieved, rank in zip(*targets.values(), strict=True):
        graded = "" if grade == 1 else f" (grade {grade:g})"
        where = "lost in retrieval" if rank is None else f"retrieved at rank {retrieved}, shown at rank {rank}"
        lines.append(f"{item}{graded}: {where}")
    return lines or ["none that is known"]


def _print_table(
    console: Console, columns: Mapping[str, Sequence[Any]], rows: Sequence[int], after: Sequence[str] = ()
) -> None:
    """Print the chosen rows of as many columns as fit side by side, the others by name; ``after`` ends the lines."""
    cells = {name: _cells([column[row] for row in rows]) for name, column in columns.items()}
    limit = min(console.width, WIDEST_TERMINAL)
    lines, fitting, width = [Text()] + [Text() for _ in rows], 0, 0
    for name, column in cells.items():
        size = max(cell_len(text) for text in [name, *column])
        if width + size + 2 > limit and fitting > 2:
            break
        words = any(isinstance(columns[name][row], str) for row in rows)
        for line, text in zip(lines, [name, *column], strict=True):
            padding = " " * (size - cell_len(text))
            line.append("  " + (text + padding if words else padding + text))
        width, fitting = width + size + 2, fitting + 1
    lines[0].stylize("dim")
    for line, end in zip(lines, after or [""] * len(lines), strict=True):
        line.append(f"  {end}")
        line.rstrip()
        console.print(line, soft_wrap=True, highlight=False)
    if fitting < len(cells):
        rest = list(cells)[fitting:]
        _say(console, f"  and {len(rest)} more, which --json shows: {_cut(', '.join(rest), limit - 40)}")


def _cells(values: Sequence[Any]) -> list[str]:
    """Return a column's values as words: whole numbers without decimals where all of them are."""
    numbers = [value for value in values if isinstance(value, float)]
    digits = 0 if all(number.is_integer() for number in numbers) else 3

    def cell(value: Any) -> str:
        if value is None:
            return "-"
        if isinstance(value, float):
            return f"{value:,.{digits if abs(value) < 1000 else 0}f}"
        return _cut(" ".join(str(value).split()), LONGEST_NAME)

    return [cell(value) for value in values]


def _cut(text: str, longest: int) -> str:
    return text if cell_len(text) <= longest else f"{set_cell_size(text, longest - 1).rstrip()}…"


def _moment(time: int | None) -> str:
    if time is None:
        return ""
    try:
        return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d %H:%M:%S}  "
    except (OverflowError, ValueError, OSError):  # the data's clock lies outside the years 1 to 9999
        return f"{time} ms  "


def _say(console: Console, words: str, bold: bool = False) -> None:
    console.print(Text(words, style="bold" if bold else ""), soft_wrap=True, highlight=False)
