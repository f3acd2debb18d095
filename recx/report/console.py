"""What is printed at the end of a run: the figures of every line, what was learnt, what it took and where it lies.

Lines have a width of their own and are never wrapped, so a pipe, a log and a terminal get the same words; colour is
added on a terminal only.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from recx.experiment import Result
    from recx.protocols import Run

QUESTIONS = {
    "retrieval": "are the right items among the candidates?",
    "ranking": "are those that are there put first?",
    "end_to_end": "does the user get them?",
    "funnel": "where are hits lost, and what does the ranker add?",
}
NAME, CELL, WIDEST = 22, 9, 100
"""Columns of the table's names, of one figure, and of everything."""


class _Stdout(Console):
    def on_broken_pipe(self) -> None:  # rich would raise SystemExit, from which no tracker learns the reason
        raise BrokenPipeError("whoever read the output has left")


def console_of_stdout() -> Console:
    """Return where progress and the summary go: as wide as the terminal, or 100 columns of plain text."""
    plain = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return _Stdout(width=100 if plain else None, highlight=False)


def print_summary(console: Console, result: Result, folder: Path, run: Run, advice: Sequence[str] = ()) -> None:
    """Print the outcome of a run: one table of figures (what was written, when predicting), then the rest.

    advice: sentences on what the figures call for (see ``recx.advice``).
    """
    width = min(console.width, WIDEST)
    sections = {
        "": _figures(result.report.means) if result.report else [],
        "written": _files(folder, width) if not result.report else [],
        "learnt weights (standardised features)": _weights(result.weights, width),
        "counts": _counts(result.metrics, width),
        "seconds": _columns(_seconds(result), width),
        "advice": [Text(f"  {sentence}") for sentence in advice],
        "where": _where(folder, run),
    }
    for title, lines in sections.items():
        if lines:
            console.print()
        if lines and title:
            lines.insert(0, Text(title, style="bold"))
        for line in lines:
            console.print(line, soft_wrap=True, highlight=False)


def _seconds(result: Result) -> dict[str, str]:
    """Return the seconds of every stage, and how many of its passes were spared by the cache."""
    return {
        stage: f"{seconds:.2f}{_spared((result.hits or {}).get(stage, 0), result.passes.get(stage, 1))}"
        for stage, seconds in result.seconds.items()
    }


def _spared(hits: int, passes: int) -> str:
    return "" if not hits else " cached" if hits >= passes else f" {hits} of {passes} cached"


def _figures(means: Mapping[str, float]) -> list[Text]:
    """Return the table: a block a line (retrieval, ranking ...), a row a metric, a column a cut."""
    split = {name: _split_name(name) for name in means}
    cuts = sorted({cut for _, bare, cut in split.values() if bare != "users"})
    head = "".join(f"{'uncut' if cut == math.inf else f'at {cut:.0f}':>{CELL}}" for cut in cuts)
    table = [Text(" " * NAME + head, style="dim")]
    for line in dict.fromkeys(line for line, _, _ in split.values()):
        table.append(_heading(line, means.get(f"{line}/users"), NAME + len(head)))
        rows: dict[str, dict[float, float]] = {}
        for name, (of_line, bare, cut) in split.items():
            if of_line == line and bare != "users":
                rows.setdefault(bare, {})[cut] = means[name]
        for bare, cells in rows.items():
            sign = "+" if bare.startswith("lift") else ""
            figures = "".join(_cell(cells[cut], sign) if cut in cells else " " * CELL for cut in cuts).rstrip()
            table.append(Text(f"  {_words(bare):<{NAME - 2}}{figures}"))
    return table


def _split_name(name: str) -> tuple[str, str, float]:
    """Return a figure's line, metric and cut (infinity: not cut)."""
    line, _, metric = name.rpartition("/")
    found = re.fullmatch(r"(.+)_at_(\d+)", metric)
    return (line, found[1], float(found[2])) if found else (line, metric, math.inf)


def _heading(line: str, users: float | None, width: int) -> Text:
    counted = "" if users is None else f"{users:,.0f} users"
    question = QUESTIONS.get(line, "")
    heading = Text.assemble((f"{_words(line):<12}", "bold cyan"), (question, "dim"))
    gap = max(2, width - len(heading) - len(counted))
    return heading.append(" " * gap + counted, style="dim") if counted else heading


def _cell(value: float, sign: str) -> str:
    if math.isnan(value):
        return f"{'-':>{CELL}}"
    digits = 4 if abs(value) < 100 else 0 if value.is_integer() else 1
    return f"{value:>{sign}{CELL},.{digits}f}"


def _weights(weights: Mapping[str, float], width: int) -> list[Text]:
    strongest = sorted(weights.items(), key=lambda named: -abs(named[1]))
    return _columns({name: f"{weight:+.3f}" for name, weight in strongest}, width)


def _counts(metrics: Mapping[str, float], width: int) -> list[Text]:
    """Return the counts that are not zero: sizes first, then what parts noted."""
    counts = {name.removeprefix("data/"): value for name, value in metrics.items() if name.startswith("data/")}
    return _columns({_words(name): _number(value) for name, value in counts.items() if value}, width)


def _number(value: float) -> str:
    digits = 0 if value == round(value) or abs(value) >= 1000 else 1 if abs(value) >= 1 else 4
    return f"{value:,.{digits}f}"


def _columns(entries: Mapping[str, str], width: int) -> list[Text]:
    """Lay out names and values in as many columns as fit, at most four, read downwards."""
    cells = list(entries.items())
    for columns in (4, 3, 2, 1):
        height = max(1, -(-len(cells) // columns))
        stacks = [_stack(cells[start : start + height]) for start in range(0, len(cells), height)]
        if sum(len(stack[0]) + 2 for stack in stacks) <= width + 2:
            break
    return [
        Text("  ").join(stack[row] for stack in stacks if row < len(stack)) for row in range(min(height, len(cells)))
    ]


def _stack(cells: list[tuple[str, str]]) -> list[Text]:
    name = max(len(key) for key, _ in cells)
    value = max(len(text) for _, text in cells)
    return [Text.assemble("  ", (f"{key:<{name}}", "dim"), f"  {text:>{value}}") for key, text in cells]


def _files(folder: Path, width: int) -> list[Text]:
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
    return _columns({name: f"{size / 1000:,.1f} kB" for name, size in sizes.items()}, width)


def _where(folder: Path, run: Run) -> list[Text]:
    lines = [Text.assemble(("  folder   ", "dim"), str(folder))]
    if run.address:
        local = run.address.startswith("http://127.0.0.1:")
        lines += [Text.assemble(("  open     ", "dim"), "python -m recx ui")] if local else []
        lines += [Text.assemble(("  address  ", "dim"), (run.address, "cyan"))]
    return lines


def _words(name: str) -> str:
    return name.replace("_", " ")
