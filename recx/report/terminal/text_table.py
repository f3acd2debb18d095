"""Tables and paragraphs that read the same in a terminal, a pipe and a log.

Colour is added on a terminal only, and figures are never cut: a table that cannot be made narrow enough is wider than
the terminal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from recx.core.system.screen import one_line, visible
from recx.report.terminal import formats

WIDEST = 100
"""Columns that the output uses at most, even on wider terminals."""
UNLIMITED = 100_000


def show(console: Console, parts: Iterable[RenderableType], width: int | None = None) -> None:
    """Print tables and texts below each other, without trailing spaces.

    Args:
        console: Where to print.
        parts: What to print; a string is plain text, never markup.
        width: Columns at most; None for those of the console, but no more than ``WIDEST``.
    """
    for part in parts:
        shown = Text(visible(part)) if isinstance(part, str) else part
        least = sum((column.min_width or 0) + 2 for column in shown.columns) if isinstance(shown, Table) else 0
        options = console.options.update(max_width=max(width or min(console.width, WIDEST), least))
        for segments in Segment.split_lines(console.render(shown, options)):
            line = Text.assemble(*((visible(text), style or "") for text, style, _ in segments))
            line.rstrip()
            console.print(line, soft_wrap=True, highlight=False)


def section(title: str, parts: Sequence[RenderableType], style: str = "bold") -> list[RenderableType]:
    """Return a blank line, a title and its parts; nothing if there are no parts."""
    return ["", Text(title, style), *parts] if parts else []


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    left: Collection[int] = (0,),
    folding: Collection[int] | None = None,
    narrowest: int = 8,
    styles: Sequence[str] = (),
    indent: bool = True,
) -> Table:
    """Return a table with figures aligned to the right and names to the left.

    Args:
        head: Names of the columns, which may have two lines.
        rows: One cell per column.
        left: Indices of the columns that contain names.
        folding: Indices of the columns that may be wrapped if space is short; None for all of ``left``.
        narrowest: Minimal width of these.
        styles: Style of each row; empty if all look the same.
        indent: Whether to indent the table by two spaces.
    """
    cells = [[cell if isinstance(cell, Text) else Text(one_line(cell)) for cell in row] for row in rows]
    made = Table(box=None, header_style="dim", padding=(0, 0, 0, 2), pad_edge=indent)
    for place, name in enumerate(head):
        size = max(map(cell_len, [*name.split("\n"), *(row[place].plain for row in cells)]))
        folds = place in (left if folding is None else folding)
        made.add_column(
            Text(name),
            justify="left" if place in left else "right",
            no_wrap=not folds,
            overflow="fold",
            min_width=min(size, narrowest) if folds else size,
        )
    for place, row in enumerate(cells):
        made.add_row(*row, style=styles[place] if styles else None)
    return made


def room(console: Console) -> int:
    """Return the width of a table that programs may read: that of the terminal; in a pipe unlimited."""
    return console.width if console.is_terminal else UNLIMITED


def width_of(made: Table, console: Console) -> int:
    """Return the width of a table without any limit."""
    return console.measure(made, options=console.options.update(max_width=UNLIMITED)).maximum


def bullets(sentences: Iterable[str]) -> list[RenderableType]:
    """Return sentences as a bulleted list; nothing if there are none."""
    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(min_width=3)
    made.add_column(overflow="fold")
    for sentence in sentences:
        made.add_row("  •", Text(visible(sentence)))
    return [made] if made.rows else []


def entries(values: Mapping[str, str]) -> list[RenderableType]:
    """Return names and values in as many columns as fit, to be read downwards; nothing if there are none."""
    name, value = (max(map(len, texts), default=0) for texts in (values, values.values()))
    cells = [Text.assemble("  ", (f"{key:<{name}}", "dim"), f"  {text:>{value}}") for key, text in values.items()]
    return [Columns(cells, padding=(0, 2), column_first=True)] if cells else []


def where(folder: Path, address: str | None) -> list[RenderableType]:
    """Return the folder of a run and, if it is tracked, where or how to open it: text lines that are never wrapped."""
    lines = {"folder": Text(str(folder))}
    if address:
        lines["mlflow" if address.startswith("python ") else "address"] = Text(address, "cyan")
    return [whole(Text.assemble((f"  {name:<9}", "dim"), value)) for name, value in lines.items()]


def whole(line: Text | str) -> Text:
    """Return a text line that is never wrapped, so that a path in it can be copied."""
    kept = Text(line) if isinstance(line, str) else line
    kept.no_wrap, kept.overflow = True, "ignore"
    return kept


def cut(text: str, longest: int) -> str:
    """Return a text on one line, of at most ``longest`` columns."""
    return formats.cut(one_line(text), longest)
