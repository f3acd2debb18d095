"""The summary of a run or a sweep in Markdown, for trackers that show such a text beside the run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recx.core.chosen import chain, data_name, params
from recx.core.fold_names import outside_name
from recx.core.metric_names import by_stage
from recx.core.nouns import nouns_of
from recx.report.terminal.formats import QUESTIONS, count, figure, percent, words

if TYPE_CHECKING:
    from recx.experiment.experiment import Result

LONGEST_TABLE = 20
"""Rows of a sweep's table."""
OF_BENCHMARK = ("name", "status", "latency/p95_ms", "cost/total", "balance", "reason")
"""Columns of a benchmark's table beside the means of its quality."""


def of_run(result: Result, config: Mapping[str, Any], advice: Sequence[str]) -> str:
    """Return the summary of a run, in the words of its dataset: what ran, the figures of each stage, and advice.

    Args:
        result: The run.
        config: Its plain configuration.
        advice: Sentences on what the figures suggest to do.
    """
    fold, say = result.experiment.fold, nouns_of(result.experiment.dataset).say
    users = "" if result.report is None else say(f", {count(len(result.report.users))} users")
    parts = [f"**{escaped(chain(config))}** on {escaped(data_name(config))}, fold {fold}{users}"]
    if result.report is not None:
        parts += [*_stages(result.report.means, fold, say), *map(say, _lost(result.report.means))]
    if advice:
        parts.append("\n".join(f"- {escaped(say(sentence))}" for sentence in advice))
    rows = [[f"`{name}`", escaped(text)] for name, text in params(config).items()]
    parts.append(table(["setting", "value"], rows))
    return "\n\n".join(parts)


def of_sweep(title: str, sentences: Sequence[str], columns: Mapping[str, Sequence[object]], objective: str) -> str:
    """Return the summary of a sweep: its conclusion, then its settings, best first.

    Args:
        title: What was swept.
        sentences: The conclusion.
        columns: The table of its settings (see ``recx.jobs.sweep.output``).
        objective: The metric that the trials are compared by.
    """
    shown = [name for name, values in columns.items() if name != "cached" and any(map(_says_something, values))]
    head = [objective if name == "objective" else name for name in shown]
    cells = zip(*(columns[name] for name in shown), strict=True)
    rows = [[figure(cell) if isinstance(cell, float) else escaped(str(cell)) for cell in row] for row in cells]
    more = [f"{len(rows) - LONGEST_TABLE} more in `settings.csv`"] if len(rows) > LONGEST_TABLE else []
    said = "\n".join(f"- {escaped(sentence)}" for sentence in sentences)
    parts = (f"**{escaped(title)}**", said, table(list(map(escaped, head)), rows[:LONGEST_TABLE]))
    return "\n\n".join([*filter(None, parts), *more])


def _says_something(cell: object) -> bool:
    return cell not in ("", None) and cell == cell


def of_benchmark(sentences: Sequence[str], columns: Mapping[str, Sequence[object]]) -> str:
    """Return the summary of a benchmark: its conclusions, and the main figures of each ranker.

    Args:
        sentences: The conclusions.
        columns: The table of its rankers (see ``recx.jobs.benchmark.outcome``).
    """
    said = "\n".join(f"- {escaped(sentence)}" for sentence in sentences)
    shown = [name for name in columns if name.rpartition("quality/")[1] or name in OF_BENCHMARK]
    shown = [name for name in shown if not name.endswith(("_low", "_high", "_p_holm"))]
    rows = zip(*(columns[name] for name in shown), strict=True)
    cells = [[figure(cell) if isinstance(cell, float) else escaped(str(cell)) for cell in row] for row in rows]
    return "\n\n".join(filter(None, (said, table(list(map(escaped, shown)), cells))))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is aligned left and the others right; cells are Markdown already."""
    ruler = [":--", *["--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ruler, *rows))


def escaped(text: str) -> str:
    """Return a text on one line, without signs that mean something in Markdown or HTML."""
    return re.sub(r"([\\|`*_<\[\]~#&])", r"\\\1", " ".join(text.split()))


def _stages(means: Mapping[str, float], fold: str, say: Callable[[str], str]) -> Iterator[str]:
    """Yield a table per stage: a row per metric, a column per cut; what users get first, as pages cut the rest off."""
    for stage, rows in sorted(by_stage(means).items(), key=lambda block: block[0] != "end_to_end"):
        users = rows.pop("users", {}).get(math.inf)
        counted = "" if users is None else say(f" ({count(users)} users)")
        cuts = sorted({cut for cells in rows.values() for cut in cells})
        head = [f"**{outside_name(stage, fold)}**", *("uncut" if cut == math.inf else f"at {cut:.0f}" for cut in cuts)]
        body = [[words(name), *(figure(cells[k]) if k in cells else "" for k in cuts)] for name, cells in rows.items()]
        yield f"{say(QUESTIONS.get(stage, words(stage)))}{counted}\n\n{table(head, body)}"


def _lost(means: Mapping[str, float]) -> Iterator[str]:
    lost, users = means.get("funnel/lost_in_retrieval"), means.get("ranking/users")
    if lost is not None and users is not None:
        yield (
            f"`ranking/` counts the {count(users)} users ({percent(1 - lost)}) with a retrieved target, and so must "
            "not order runs with different retrievers."
        )
