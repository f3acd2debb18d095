"""What is printed at the end of a run: the figures of every stage, what was learnt, what it took and where it is."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recx.report.terminal.formats import QUESTIONS, count, figure, words
from recx.report.terminal.text_table import WIDEST, bullets, entries, section, show, where

if TYPE_CHECKING:
    from recx.core.protocols import Run
    from recx.experiment.experiment import Result

NAME, CELL = 22, 9
"""Columns of the table's names and of one figure."""


class _Stdout(Console):
    def on_broken_pipe(self) -> None:  # rich would raise SystemExit, from which no tracker learns the reason
        raise BrokenPipeError("whoever read the output has left")


def console_of_stdout() -> Console:
    """Return where progress and the summary go: as wide as the terminal, or 100 columns of plain text."""
    plain = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return _Stdout(width=WIDEST if plain else None, highlight=False)


def print_summary(console: Console, result: Result, folder: Path, run: Run, advice: Sequence[str] = ()) -> None:
    """Print the outcome of a run: one table of figures (what was written, when predicting), then the rest.

    advice: sentences on what the figures call for (see ``recx.advice``).
    """
    strongest = sorted(result.weights.items(), key=lambda named: -abs(named[1]))
    counts = {name: value for name, value in result.metrics.items() if name.startswith("data/") and value}
    sections = {
        "written": entries(_sizes(folder)) if not result.report else [],
        "learnt weights (standardised features)": entries({name: f"{weight:+.3f}" for name, weight in strongest}),
        "counts": entries({words(name.removeprefix("data/")): count(value) for name, value in counts.items()}),
        "seconds": entries(_seconds(result)),
        "advice": bullets(advice),
        "where": where(folder, run.address),
    }
    if result.report:
        show(console, ["", *_figures(result.report.means)])
    for title, parts in sections.items():
        show(console, section(title, parts))


def _seconds(result: Result) -> dict[str, str]:
    """Return the seconds of every stage, and how many of its passes were spared by the cache."""
    return {
        stage: f"{seconds:.2f}{_spared((result.hits or {}).get(stage, 0), result.passes.get(stage, 1))}"
        for stage, seconds in result.seconds.items()
    }


def _spared(hits: int, passes: int) -> str:
    return "" if not hits else " cached" if hits >= passes else f" {hits} of {passes} cached"


def _sizes(folder: Path) -> dict[str, str]:
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return {path.name: f"{path.stat().st_size / 1000:,.1f} kB" for path in files}


def _figures(means: Mapping[str, float]) -> Iterator[Text]:
    """Yield the table: a block a stage (retrieval, ranking ...), a row a metric, a column a cut."""
    blocks: dict[str, dict[str, dict[float, float]]] = {}
    for name, value in means.items():
        stage, _, metric = name.rpartition("/")
        found = re.fullmatch(r"(.+)_at_(\d+)", metric)
        bare, cut = (found[1], float(found[2])) if found else (metric, math.inf)
        blocks.setdefault(stage, {}).setdefault(bare, {})[cut] = value
    users = {stage: rows.pop("users")[math.inf] for stage, rows in blocks.items() if "users" in rows}
    cuts = sorted({cut for rows in blocks.values() for cells in rows.values() for cut in cells})
    head = "".join(f"{'uncut' if cut == math.inf else f'at {cut:.0f}':>{CELL}}" for cut in cuts)
    yield Text(" " * NAME + head, "dim")
    for stage, rows in blocks.items():
        counted = f"{users[stage]:,.0f} users" if stage in users else ""
        title = Text.assemble((f"{words(stage):<12}", "bold cyan"), (QUESTIONS.get(stage, ""), "dim"))
        gap = max(2, NAME + len(head) - len(title) - len(counted))
        yield title.append(" " * gap + counted, "dim")
        for bare, cells in rows.items():
            sign = "+" if bare.startswith("lift") else ""
            shown = "".join(f"{figure(cells[cut], sign) if cut in cells else '':>{CELL}}" for cut in cuts)
            yield Text(f"  {words(bare):<{NAME - 2}}{shown}")
