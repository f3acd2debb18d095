"""A replay on the terminal: a row per window, then what to know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recx.report.terminal.formats import count, figure, percent
from recx.report.terminal.text_table import UNLIMITED, bullets, section, show, table

if TYPE_CHECKING:
    from rich.console import Console


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
        objective: The figure that the run is compared by, which has a column if the windows have it.
        where: Where everything is.
    """
    known = list(dict.fromkeys(name for one in windows for name in one["intervals"]))
    shown = objective if objective in known else next((name for name in known if name.startswith("end_to_end/")), "")
    head = ("window from", "asked", shown or objective, "interval", "new items", "largest PSI")
    show(console, [table(head, [_row(one, shown) for one in windows], left=(0,), folding=(), indent=False)])
    show(console, section("what to know", bullets(list(sentences))))
    show(console, ["", *where], UNLIMITED)  # a path that is wrapped cannot be copied


def _row(one: Mapping[str, Any], shown: str) -> tuple[str, ...]:
    figures = one["figures"]
    low, high = one["intervals"].get(shown, (None, None))
    moved = {name: drift["psi"] for name, drift in one["drift"].items() if drift["psi"] is not None}
    most = max(moved, key=lambda name: moved[name], default="")
    return (
        f"{one['name']}{' (partial)' if one['partial'] else ''}",
        count(one["asked"]),
        figure(figures.get(shown)),
        "" if low is None else f"{figure(low)} to {figure(high)}",
        percent(figures.get("new_items")),
        f"{figure(moved[most], digits=2)} {most}" if most else "–",
    )
