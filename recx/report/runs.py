"""The table of past runs for people, for papers (LaTeX, Markdown) and for programs (CSV)."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.cells import cell_len, set_cell_size

from recx.past_run import PastRun, differing

COLUMNS = ("id", "experiment", "what", "when", "seconds", "status", "folder")
HEADLINES = (("retrieval/recall_at_", 50, max), ("end_to_end/ndcg_at_", 5, min), ("quality/ndcg_at_", 10, max))
"""Start of a metric's name, the cut that is wanted, and which to take where it is not there."""
MOST_METRICS = 4
WIDEST = {"experiment": 24, "what": 60}
"""Cells of a column on the console; the other forms have all of it."""
ABSENT = "–"
LATEX = {
    "\\": r"\textbackslash{}",
    "–": "--",
    "…": r"\ldots{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",  # \textquotedbl is an error in the encoding that LaTeX begins with
}


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
    apart = differing(runs)
    return {
        "id": [run.id for run in runs],
        "experiment": [run.experiment for run in runs],
        "what": [what(run, apart[run.id]) for run in runs],
        **{name: [_figure(run.metrics.get(name), exact) for run in runs] for name in metrics},
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


def text(columns: Mapping[str, Sequence[str]], width: int | None) -> list[str]:
    """Return the lines of the table; the folder, which is last, only where it fits the width (None: any)."""
    shown = {name: [_cut(cell, WIDEST.get(name, 200)) for cell in values] for name, values in columns.items()}
    if width is not None and _width(shown) > width:
        del shown["folder"]
    while width is not None and _width(shown) > width and _widest(shown["what"]) > 20:
        room = max(_widest(shown["what"]) - (_width(shown) - width), 20)
        shown["what"] = [_cut(cell, room) for cell in columns["what"]]
    heads = [_head(name) for name in shown]
    rows: list[list[str]] = [[head[0] for head in heads], [head[1] for head in heads]]
    rows += [list(row) for row in zip(*shown.values(), strict=True)]
    sizes = [_widest(column) for column in zip(*rows, strict=True)]
    right = [name not in COLUMNS or name == "seconds" for name in shown]
    lines = ["  ".join(map(_padded, row, sizes, right)).rstrip() for row in rows]
    return lines if lines[0] else lines[1:]


def markdown(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the table as Markdown."""
    head, *rows = _whole(columns)
    ruler = [":--" if name in COLUMNS and name != "seconds" else "--:" for name in head]
    escaped = [[re.sub(r"([\\|`*_<\[\]~])", r"\\\1", _line(cell)) for cell in row] for row in (head, *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (escaped[0], ruler, *escaped[1:]))


def latex(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the table as LaTeX for the package booktabs."""
    head, *rows = _whole(columns)
    shape = "".join("l" if name in COLUMNS and name != "seconds" else "r" for name in head)
    lines = [
        " & ".join("".join(LATEX.get(sign, sign) for sign in _line(cell)) for cell in row) for row in (head, *rows)
    ]
    body = [rf"{line} \\" for line in lines]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{shape}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def as_csv(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the table as CSV; what is missing is an empty cell."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(["" if cell == ABSENT else cell for cell in row] for row in zip(*columns.values(), strict=True))
    return written.getvalue().rstrip("\n")


def _cut_of(metrics: Mapping[str, float], start: str, best: int, other: Callable[[list[int]], int]) -> str | None:
    """Return a metric at its best cut, or at that other one of those that there are."""
    cuts = [
        int(name.removeprefix(start)) for name in metrics if name.startswith(start) and name[len(start) :].isdigit()
    ]
    return f"{start}{best if best in cuts else other(cuts)}" if cuts else None


def _figure(value: float | None, exact: bool) -> str:
    if value is None or value != value:
        return ABSENT
    if exact:
        return repr(float(value))
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:,.0f}"


def _moment(start: float, exact: bool) -> str:
    if exact:
        return f"{datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{datetime.fromtimestamp(start):%Y-%m-%d %H:%M}"


def _near(folder: str) -> str:
    """Return a folder as it is called from here."""
    here = Path.cwd()
    return str(Path(folder).relative_to(here)) if folder and Path(folder).is_relative_to(here) else folder or ABSENT


def _whole(columns: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return head and rows without the folder, which is of no use on paper."""
    shown = {name: values for name, values in columns.items() if name != "folder"}
    return [list(shown), *(list(row) for row in zip(*shown.values(), strict=True))]


def _line(words: str) -> str:
    return " ".join(words.split())


def _cut(words: str, longest: int) -> str:
    words = "".join(sign if sign.isprintable() else " " for sign in words)  # nothing that steers a terminal
    return words if cell_len(words) <= longest else f"{set_cell_size(words, longest - 1).rstrip()}…"


def _padded(words: str, size: int, right: bool) -> str:
    padding = " " * (size - cell_len(words))
    return padding + words if right else words + padding


def _widest(words: Sequence[str]) -> int:
    return max(map(cell_len, words), default=0)


def _width(shown: Mapping[str, Sequence[str]]) -> int:
    return sum(_widest([*_head(name), *values]) + 2 for name, values in shown.items()) - 2


def _head(name: str) -> tuple[str, str]:
    """Return the name of a column as two lines: ``end_to_end/`` over ``ndcg_at_5``."""
    line, slash, rest = name.rpartition("/")
    return line + slash, rest
