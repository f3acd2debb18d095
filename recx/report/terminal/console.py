"""What is printed at the end of a run: the figures of every stage, what was learned, the time it took, its location."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from recx.core.live_output import in_notebook
from recx.core.metric_names import by_stage
from recx.core.nouns import nouns_of
from recx.core.system.screen import tolerant
from recx.report.terminal.formats import QUESTIONS, count, figure, percent, words
from recx.report.terminal.text_table import WIDEST, bullets, entries, section, show, where

if TYPE_CHECKING:
    from recx.core.trackers import Run
    from recx.experiment.experiment import Result

COLLINEAR = "; * collinear, not to be read singly: see report.html"
NAME, CELL = 22, 9
"""Columns of the table's names and of one figure."""


class _Stdout(Console):
    def on_broken_pipe(self) -> None:  # rich would raise SystemExit, which does not tell trackers the reason
        raise BrokenPipeError("the reader of the output has closed it")


def console_of_stdout() -> Console:
    """Return where progress and the summary are printed: as wide as the terminal, or 100 columns of plain text.

    In a notebook it is plain text too, since rich would show every line as an output of its own there. A pipe is no
    terminal where FORCE_COLOR is set, as notebooks do for the programs that they start: it gets colours, whole tables
    and no moving lines.
    """
    tolerant(sys.stdout)
    notebook, terminal = in_notebook(), sys.stdout.isatty()
    plain = not terminal and "COLUMNS" not in os.environ
    return _Stdout(
        width=WIDEST if plain else None,
        highlight=False,
        force_jupyter=False,
        force_terminal=None if terminal and not notebook else False,
        color_system="standard" if os.environ.get("FORCE_COLOR") and not notebook and not terminal else "auto",
    )


def print_summary(console: Console, result: Result, folder: Path, run: Run, advice: Sequence[str] = ()) -> None:
    """Print the results of a run: a table of its figures (or the files written, when predicting), then the rest.

    Users and items are called what the dataset calls them.

    Args:
        console: Where to print.
        result: The run.
        folder: Its files.
        run: Its entry in the tracker.
        advice: Sentences on what the figures suggest to do (see ``recx.experiment.advice``).
    """
    say = nouns_of(result.experiment.dataset).say
    together = {name for group in result.collinear for name in group}
    strongest = sorted(result.weights.items(), key=lambda named: -abs(named[1]))
    data = {name: value for name, value in result.metrics.items() if name.startswith("data/") and value}
    counts = {words(name.removeprefix("data/")): count(value) for name, value in data.items()}
    sections = {
        "written": entries(_sizes(folder)) if not result.report else [],
        f"learned weights (standardised features{COLLINEAR if together else ''})": entries(
            {name: f"{weight:+.3f}{'*' if name in together else ' ' * bool(together)}" for name, weight in strongest}
        ),
        "counts": entries({say(name) if say(name) not in counts else name: value for name, value in counts.items()}),
        "seconds": entries({stage: _seconds(result, stage) for stage in result.seconds}),
        "advice": bullets(map(say, advice)),
        "where": where(folder, run.address),
    }
    with console:  # written at once, so that it is one output of a notebook's cell
        if result.report:
            show(console, ["", *_figures(result.report.means, say)])
        for title, parts in sections.items():
            show(console, section(title, parts))


def _seconds(result: Result, stage: str) -> str:
    """Return the seconds of a stage, and how many of its passes came from the cache."""
    hits, passes = (result.hits or {}).get(stage, 0), result.passes.get(stage, 1)
    cached = "" if not hits else " cached" if hits >= passes else f" {hits} of {passes} cached"
    return f"{result.seconds[stage]:.2f}{cached}"


def _sizes(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith("."))
    return {path.name: f"{path.stat().st_size / 1000:,.1f} kB" for path in files}


def _figures(means: Mapping[str, float], say: Callable[[str], str]) -> Iterator[Text]:
    """Yield the lines of the table, in a dataset's words: a block per stage, a row per metric, a column per cut."""
    blocks = by_stage(means)
    users = {stage: rows.pop("users")[math.inf] for stage, rows in blocks.items() if "users" in rows}
    cuts = sorted({cut for rows in blocks.values() for cells in rows.values() for cut in cells})
    head = "".join(f"{'uncut' if cut == math.inf else f'at {cut:.0f}':>{CELL}}" for cut in cuts)
    yield Text(" " * NAME + head, "dim")
    for stage, rows in blocks.items():
        share = users[stage] / max(users.values()) if stage in users else 1.0
        counted = f"{users[stage]:,.0f} {say('users')}" if stage in users else ""
        counted += "" if share == 1 else f" ({percent(share)})"
        title = Text.assemble((f"{words(stage):<12}", "bold cyan"), (say(QUESTIONS.get(stage, "")), "dim"))
        gap = max(2, NAME + len(head) - len(title) - len(counted))
        yield title.append(" " * gap + counted, "dim")
        for metric, cells in rows.items():
            sign = "+" if metric.startswith("lift") else ""
            shown = "".join(f"{figure(cells[cut], sign) if cut in cells else '':>{CELL}}" for cut in cuts)
            yield Text(f"  {words(metric):<{NAME - 2}}{shown}")
