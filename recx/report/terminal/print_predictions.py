"""The recommendations of a model on the terminal, and what was written of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.report.terminal.formats import figure
from recx.report.terminal.text_table import cut, room, show, table, whole

if TYPE_CHECKING:
    from rich.console import Console

WIDEST_ID = 40


def print_rows(console: Console, columns: Mapping[str, Sequence[Any]], shown: int, users: int) -> None:
    """Print lists, a row per item; only the first row of a list names its user.

    Args:
        console: Where to print.
        columns: user, rank, item, score and known, one value per row.
        shown: How many users these rows are of.
        users: How many were asked for.
    """
    rows = []
    for user, rank, item, score, known in zip(*columns.values(), strict=True):
        name = f"{cut(str(user), WIDEST_ID)}{'' if known else ' (unknown)'}" if rank == 1 else ""
        rows.append((name, str(rank), cut(str(item), WIDEST_ID), figure(score)))
    with console:
        if rows:
            show(console, [table(("user", "rank", "item", "score"), rows, left=(0, 2), indent=False)], room(console))
        without = shown - list(columns["rank"]).count(1)
        if without:
            show(console, [f"empty lists: those of {without:,} of these {shown:,} users"])
        if shown < users:
            show(console, [f"{shown:,} of {users:,} users: --output FILE writes all"])


def print_made(console: Console, users: int, rows: int, counts: Mapping[str, int], path: Path) -> None:
    """Print how much was written, and where.

    Args:
        console: Where to print.
        users: How many users were asked for.
        rows: How many rows their lists have.
        counts: What some of the users are -> how many are so.
        path: The file.
    """
    more = "".join(f", {n:,} {what}" for what, n in counts.items() if n)
    show(console, [whole(f"{rows:,} rows for {users:,} users{more}: {path}")])
