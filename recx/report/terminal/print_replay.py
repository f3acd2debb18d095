"""A replay on the terminal: a row per window, then what to know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recx.report.terminal.formats import count, figure, percent
from recx.report.terminal.text_table import bullets, section, show, table

if TYPE_CHECKING:
    from rich.console import Console

MOST = 2
"""Metrics that have a column."""


def print_replay(
    console: Console,
    windows: Sequence[Mapping[str, Any]],
    sentences: Sequence[str],
    objective: str,
    where: Sequence[str],
) -> None:
    """Print the windows of a replay.

    Args:
        console: Where to print.
        windows: The windows of ``replay.json``.
        sentences: What to know of them.
        objective: The figure that the run is compared by, which comes first.
        where: Where everything is.
    """
    known = list(dict.fromkeys(name for one in windows for name in one["intervals"]))
    end_to_end = [name for name in known if name.startswith("end_to_end/")]
    shown = [name for name in dict.fromkeys([objective, *end_to_end]) if name in known][:MOST]
    head = ("window from", "asked", *shown, "interval", "new items", "largest PSI")
    rows = [_row(one, shown) for one in windows]
    show(console, [table(head, rows, left=(0,), indent=False)])
    show(console, section("what to know", bullets(list(sentences))))
    show(console, ["", *where])


def _row(one: Mapping[str, Any], shown: Sequence[str]) -> tuple[str, ...]:
    figures, intervals = one["figures"], one["intervals"]
    low, high = intervals.get(shown[0], (None, None)) if shown else (None, None)
    moved = {name: drift["psi"] for name, drift in one["drift"].items() if drift["psi"] is not None}
    most = max(moved, key=lambda name: moved[name], default="")
    return (
        f"{one['name']}{' (partial)' if one['partial'] else ''}",
        count(one["asked"]),
        *(figure(figures.get(name)) for name in shown),
        "" if low is None else f"{figure(low)} to {figure(high)}",
        percent(figures.get("new_items")),
        f"{figure(moved[most], digits=2)} {most}" if most else "–",
    )
