"""The table of past runs for people, for papers (LaTeX, Markdown) and for programs (CSV)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.fold_names import VALID, outside_name
from recx.core.metric_names import split_name
from recx.report.terminal.formats import ABSENT, figure
from recx.report.terminal.text_table import cut, room, show, table, width_of
from recx.tracking.past_run import SHOWN, PastRun, differing

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("id", "experiment", "what", "fold", "when", "seconds", "status", "folder")
HEADLINES = (("retrieval", "recall", 50, max), ("end_to_end", "ndcg", 5, min), ("quality", "ndcg", 10, max))
"""Stage, metric, the preferred cut, and which cut to take if a run lacks it."""
MOST_METRICS = 4
WIDEST = {"experiment": 24, "what": 60}
"""Width of a column on the console; other formats contain the whole text."""
LATEX = str.maketrans(
    {"–": "--", "…": r"\ldots{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"}
)
"""Characters that pandas does not escape; \\textquotedbl is an error in LaTeX's default encoding."""


def headlines(runs: Sequence[PastRun]) -> list[str]:
    """Return the metrics to show by default: the most frequent ones among the headline figures of the runs.

    These are the recall of the candidates at 50 or the largest cut, end-to-end NDCG at 5 or the smallest cut, a
    benchmark's NDCG at 10 or the largest cut, and the objective.
    """
    counted: Counter[str] = Counter()
    for run in runs:
        wanted = [
            _cut_of(run.metrics, outside_name(stage, run.fold), metric, best, other)
            for stage, metric, best, other in HEADLINES
        ]
        objective = outside_name(run.settings.get("objective", ""), run.fold)
        counted.update({*filter(None, wanted), *([objective] if objective in run.metrics else [])})
    kept = sorted(sorted(counted), key=lambda name: -counted[name])[:MOST_METRICS]
    place = {"retrieval": 0, "ranking": 1, "end_to_end": 2}
    return sorted(kept, key=lambda name: place.get(split_name(name.removeprefix(VALID))[0], len(place)))


def cells(
    runs: Sequence[PastRun], metrics: Sequence[str], *, exact: bool = False, folds: bool = False
) -> dict[str, list[str]]:
    """Return the table by column.

    Args:
        runs: One row each.
        metrics: Metrics to show.
        exact: Whether to show all digits, and times in UTC with seconds.
        folds: Whether to show the fold of each run.

    Returns:
        Column -> one text per run. Behind figures of the ranking stage stands the share of users that they count.
    """
    apart, digits = differing(runs), _exactly if exact else figure
    columns = {name: [digits(run.metrics.get(name)) for run in runs] for name in metrics}
    for ranking in dict.fromkeys(split_name(name)[0] for name in metrics if is_of_ranking(name)):
        columns[f"{ranking}/share_of_users"] = [digits(_share(run, ranking)) for run in runs]
    return {
        "id": [run.id for run in runs],
        "experiment": [run.experiment for run in runs],
        "what": [what(run, apart[run.id]) for run in runs],
        **({"fold": [run.fold for run in runs]} if folds else {}),
        **columns,
        "when": [_moment(run.start, exact) for run in runs],
        "seconds": [ABSENT if run.seconds != run.seconds else f"{run.seconds:.1f}" for run in runs],
        "status": [run.status for run in runs],
        "folder": [_near(run.folder) for run in runs],
    }


def is_of_ranking(name: str) -> bool:
    """Return whether a figure is of the ranking stage, which counts only users whose target was retrieved."""
    return name.removeprefix(VALID).startswith("ranking/")


def _share(run: PastRun, ranking: str) -> float | None:
    """Return the share of the evaluated users that the figures of the ranking stage count."""
    users = run.metrics.get(f"{ranking}/users")
    judged = run.metrics.get(outside_name("end_to_end/users", run.fold))
    return users / judged if users is not None and judged else None


def what(run: PastRun, apart: str = "") -> str:
    """Describe a run: its parts and what differs; for a sweep, what it varied; for a study, what it compared.

    A run that did not finish says why.

    Args:
        run: The run.
        apart: How it differs from other runs with the same parts.
    """
    if run.tags.get("recx.role") == "sweep":
        said = _study(run) if "study" in run.settings else _sweep(run)
    else:
        own = [f"{name}={run.settings[name]}" for name in run.varied if name in run.settings and name not in SHOWN]
        said = " ".join(filter(None, (run.parts, " ".join(own) or apart))) or run.name
    return f"{said} ({run.reason})" if run.reason and run.status != "finished" else said


def _sweep(run: PastRun) -> str:
    varied = run.tags.get("recx.varied", "")
    return f"sweep {run.tags.get('recx.sweep', '')}: {run.trials} trials{f' of {varied}' if varied else ''}"


def _study(run: PastRun) -> str:
    """Describe a study, which a store keeps as it keeps a sweep."""
    sizes = (f"{len(run.settings.get(kind, '').split(', '))} {kind}" for kind in ("chains", "worlds", "seeds"))
    return f"study {run.settings['study']}: {' × '.join(sizes)}"


def print_runs(console: Console, columns: Mapping[str, Sequence[str]]) -> None:
    """Print the table; on a terminal, the last column (the folders) only if it fits."""
    two = any("/" in name for name in columns)
    head = [f"{stage}{slash}\n{rest}" if two else rest for stage, slash, rest in (n.rpartition("/") for n in columns)]
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
    """Return the table as CSV; a missing value is an empty cell."""
    import pandas as pd

    frame = pd.DataFrame(dict(columns)).replace(ABSENT, "")
    return str(frame.to_csv(index=False, lineterminator="\n")).rstrip("\n")


def _cut_of(
    metrics: Mapping[str, float], stage: str, metric: str, best: int, other: Callable[[list[int]], int]
) -> str | None:
    """Return a metric at its preferred cut, or at that other one of its cuts."""
    cuts = [k for of, name, k in map(split_name, metrics) if (of, name) == (stage, metric) and k is not None]
    return f"{stage}/{metric}_at_{best if best in cuts else other(cuts)}" if cuts else None


def _exactly(value: float | None) -> str:
    return ABSENT if value is None or value != value else repr(float(value))


def _moment(start: float, exact: bool) -> str:
    if exact:
        return f"{datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{datetime.fromtimestamp(start):%Y-%m-%d %H:%M}"


def _near(folder: str) -> str:
    """Return a folder relative to the working directory if it is within."""
    here = Path.cwd()
    return str(Path(folder).relative_to(here)) if folder and Path(folder).is_relative_to(here) else folder or ABSENT


def _on_paper(columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the columns without the folder, which is of no use on paper, with one text line per cell."""
    return {name: [" ".join(cell.split()) for cell in cells] for name, cells in columns.items() if name != "folder"}


def _is_left(name: str) -> bool:
    return name in COLUMNS and name != "seconds"
