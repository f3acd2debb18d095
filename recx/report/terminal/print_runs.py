"""The table of past runs for people, for papers (LaTeX, Markdown) and for programs (CSV)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from recx.report.terminal.formats import ABSENT, figure
from recx.report.terminal.text_table import cut, room, show, table, width_of
from recx.tracking.past_run import PastRun, differing

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("id", "experiment", "what", "when", "seconds", "status", "folder")
HEADLINES = (("retrieval/recall_at_", 50, max), ("end_to_end/ndcg_at_", 5, min), ("quality/ndcg_at_", 10, max))
"""Start of a metric's name, the cut that is wanted, and which to take where it is not there."""
MOST_METRICS = 4
WIDEST = {"experiment": 24, "what": 60}
"""Cells of a column on the console; the other forms have all of it."""
LATEX = str.maketrans(
    {"–": "--", "…": r"\ldots{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"}
)
"""What pandas leaves as it is; \\textquotedbl is an error in the encoding that LaTeX begins with."""


def headlines(runs: Sequence[PastRun]) -> list[str]:
    """Return the metrics to show when none is named: of every run its headline figures, the most frequent of them.

    They are the recall of the candidates at 50 or the largest cut there is, end-to-end ndcg at 5 or the smallest cut
    there is, a benchmark's ndcg at 10 or the largest, and the objective.
    """
    counted: Counter[str] = Counter()
    for run in runs:
        wanted = [_cut_of(run.metrics, *headline) for headline in HEADLINES]
        objective = run.settings.get("objective", "")
        counted.update({*filter(None, wanted), *([objective] if objective in run.metrics else [])})
    lines = ("retrieval/", "ranking/", "end_to_end/")
    kept = sorted(sorted(counted), key=lambda name: -counted[name])[:MOST_METRICS]
    return sorted(kept, key=lambda name: next((n for n, line in enumerate(lines) if name.startswith(line)), len(lines)))


def cells(runs: Sequence[PastRun], metrics: Sequence[str], *, exact: bool = False) -> dict[str, list[str]]:
    """Return column -> one text a run. ``exact``: all digits, and times of UTC with seconds."""
    apart, digits = differing(runs), _exactly if exact else figure
    return {
        "id": [run.id for run in runs],
        "experiment": [run.experiment for run in runs],
        "what": [what(run, apart[run.id]) for run in runs],
        **{name: [digits(run.metrics.get(name)) for run in runs] for name in metrics},
        "when": [_moment(run.start, exact) for run in runs],
        "seconds": [ABSENT if run.seconds != run.seconds else f"{run.seconds:.1f}" for run in runs],
        "status": [run.status for run in runs],
        "folder": [_near(run.folder) for run in runs],
    }


def what(run: PastRun, apart: str = "") -> str:
    """Return in words what was run: parts and what differs; of a sweep what it varied; of a failed run its reason."""
    if run.tags.get("recx.role") == "sweep":
        varied = run.tags.get("recx.varied", "")
        said = f"{run.name}: {run.trials} trials{f' of {varied}' if varied else ''}"
    else:
        words = run.name if "=" in run.name else apart  # a trial is called by what it was run with
        said = " ".join(filter(None, (run.parts, words))) or run.name
    return f"{said} ({run.reason})" if run.reason and run.status != "finished" else said


def print_runs(console: Console, columns: Mapping[str, Sequence[str]]) -> None:
    """Print the table; on a terminal with the folders, which are last, only where they fit."""
    lines = [name.rpartition("/") for name in columns]
    two = any(line for line, _, _ in lines)
    head = [f"{line}{slash}\n{rest}" if two else rest for line, slash, rest in lines]
    cells = [[cut(cell, WIDEST.get(name, 200)) for cell in values] for name, values in columns.items()]
    left = [place for place, name in enumerate(columns) if _is_left(name)]
    folding = [place for place, name in enumerate(columns) if name == "what"]
    for n in (len(head), len(head) - 1):
        rows = list(zip(*cells[:n], strict=True))
        made = table(head[:n], rows, left=left, folding=folding, narrowest=20, indent=False)
        if width_of(made, console) <= room(console):
            break
    show(console, [made], room(console))


def markdown(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the table as Markdown."""
    printed = _on_paper(columns)
    ruler = [":--" if _is_left(name) else "--:" for name in printed]
    rows = [list(printed), *zip(*printed.values(), strict=True)]
    head, *body = ([re.sub(r"([\\|`*_<\[\]~])", r"\\\1", cell) for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ruler, *body))


def latex(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the table as LaTeX for the package booktabs."""
    import pandas as pd

    printed = _on_paper(columns)
    shape = "".join("l" if _is_left(name) else "r" for name in printed)
    text = str(pd.DataFrame(printed).to_latex(index=False, escape=True, column_format=shape))
    return text.translate(LATEX).rstrip("\n")


def as_csv(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the table as CSV; what is missing is an empty cell."""
    import pandas as pd

    frame = pd.DataFrame(dict(columns)).replace(ABSENT, "")
    return str(frame.to_csv(index=False, lineterminator="\n")).rstrip("\n")


def _cut_of(metrics: Mapping[str, float], start: str, best: int, other: Callable[[list[int]], int]) -> str | None:
    """Return a metric at its best cut, or at that other one of those that there are."""
    cuts = [
        int(name.removeprefix(start)) for name in metrics if name.startswith(start) and name[len(start) :].isdigit()
    ]
    return f"{start}{best if best in cuts else other(cuts)}" if cuts else None


def _exactly(value: float | None) -> str:
    return ABSENT if value is None or value != value else repr(float(value))


def _moment(start: float, exact: bool) -> str:
    if exact:
        return f"{datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{datetime.fromtimestamp(start):%Y-%m-%d %H:%M}"


def _near(folder: str) -> str:
    """Return a folder as it is called from here."""
    here = Path.cwd()
    return str(Path(folder).relative_to(here)) if folder and Path(folder).is_relative_to(here) else folder or ABSENT


def _on_paper(columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the columns without the folder, which is of no use on paper; each cell is one line."""
    return {name: [" ".join(cell.split()) for cell in cells] for name, cells in columns.items() if name != "folder"}


def _is_left(name: str) -> bool:
    return name in COLUMNS and name != "seconds"
