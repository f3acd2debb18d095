"""The output of a sweep: its conclusion and tables on the console, as files and as the page of the sweep."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from recx.core.system.atomic import replacing, write_text
from recx.core.system.serialize import plain
from recx.jobs.sweep.charts import charts_of
from recx.jobs.sweep.conclusion import Conclusion
from recx.jobs.sweep.page import html_of
from recx.jobs.sweep.sentences import sentences
from recx.jobs.sweep.summary import STANDING, WITHOUT, table
from recx.jobs.sweep.variants import left_out
from recx.report.charts.figures import document
from recx.report.terminal import text_table
from recx.report.terminal.formats import figure, p_value
from recx.report.terminal.text_table import bullets, cut, room, section, show, whole

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from recx.jobs.sweep.journal import Trial
    from recx.jobs.sweep.pooled import Pooled

WIDEST_CELL, MOST_ROWS = 32, 40
PAGE = "sweep.html"
HEADS = {"low": "95 % low", "high": "95 % high", "p_holm": "Holm", "p_best": "Holm,\nbest"}
"""Column -> what the console calls it, where that is another word."""
P_VALUES = ("p", "p_holm", "p_best")

Columns = Mapping[str, Sequence[Any]]


def print_sweep(console: Console, conclusion: Conclusion, folder: Path) -> None:
    """Print at most 40 settings, the best first, the conclusion, and the paths of the whole table and the page.

    Args:
        console: Where to print.
        conclusion: What the sweep says.
        folder: The folder of the sweep.
    """
    columns = settings_table(conclusion)
    shown = {name: values[:MOST_ROWS] for name, values in columns.items() if _says_something(name, values)}
    head = [_head(name, conclusion.objective) for name in shown]
    rows = list(zip(*(_cells(name, values) for name, values in shown.items()), strict=True))
    styles = ["bold" if conclusion.differs(one) else "" for one in conclusion.variants[:MOST_ROWS]]
    parts: list[RenderableType] = [
        "",
        text_table.table(head, rows, left=range(len(head)), indent=False, styles=styles),
    ]
    if len(columns["trial"]) > MOST_ROWS:
        parts.append(f"… {len(columns['trial']) - MOST_ROWS} more")
    known = [trial.objective for one in conclusion.variants for trial in one.done if trial.objective is not None]
    if len(known) > 1:
        parts.append(f"{len(known)} trials: mean {fmean(known):.4f}, standard deviation {stdev(known):.4f}")
    show(console, parts, room(console))
    if len(conclusion.pooled) == 1:
        show(console, _pooled(next(iter(conclusion.pooled.values()))), room(console))
    show(console, section("conclusion", bullets(sentences(conclusion))))
    paths = {"table": folder / "summary" / "sweep.csv", "page": folder / PAGE}
    show(console, ["", *(whole(f"{name} {path}") for name, path in paths.items())], room(console))


def write_sweep(
    conclusion: Conclusion, trials: Sequence[Trial], title: str, words: str, folder: Path
) -> dict[str, Columns]:
    """Write the page ``sweep.html``, and in ``summary`` the tables, the conclusion, the figures and the page again.

    Args:
        conclusion: What the sweep says.
        trials: Its trials.
        title: What was swept.
        words: Its overrides.
        folder: The folder of the sweep.

    Returns:
        The tables by name: ``trials``; ``settings``, where trials that differ in seed or fold alone are one row; and
        ``pooled``, where there are such: the figures of each of these rows (see ``recx.jobs.sweep.pooled``).
    """
    import pandas as pd

    summary = folder / "summary"
    summary.mkdir(parents=True, exist_ok=True)
    of_trial = {trial.number: conclusion.standing(one) for one in conclusion.variants for trial in one.trials}
    tables: dict[str, Columns] = {"trials": table(trials, of_trial), "settings": settings_table(conclusion)}
    charts, named = charts_of(conclusion), tables["settings"]
    if conclusion.pooled:
        tables["pooled"] = pooled_table(conclusion)
    if charts:
        write_text(summary / "sweep.svg", document(charts))
    content = {
        "title": title,
        "words": words,
        "objective": conclusion.objective,
        "conclusion": sentences(conclusion),
        "baseline": conclusion.baseline and conclusion.baseline.name,
        "best": conclusion.best and conclusion.best.name,
        "chosen": conclusion.chosen and conclusion.chosen.name,
        "why_chosen": conclusion.why_chosen,
        "not_told_apart_from_best": [one.name for one in conclusion.alike],
        "tests": conclusion.tested,
        "untested": conclusion.untested,
        "on_test": conclusion.on_test and {**asdict(conclusion.on_test), "regret": conclusion.on_test.regret},
        "importances": [asdict(one) for one in conclusion.importances],
        "settings": [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)],
    }
    write_text(summary / "sweep.json", json.dumps(plain(content), indent=2, ensure_ascii=False) + "\n")
    html = html_of(conclusion, title, words, folder.name, charts)
    for path in (folder / PAGE, summary / PAGE):  # for people, and among the files that a tracker gets
        write_text(path, html)
    for name, columns in tables.items():
        with replacing(summary / f"{'sweep' if name == 'trials' else name}.csv") as temporary:
            pd.DataFrame(dict(columns)).to_csv(temporary, index=False)
    return tables


def settings_table(conclusion: Conclusion) -> dict[str, list[Any]]:
    """Return one row per setting, the best first.

    Returns:
        Column -> one value per setting: ``rank``, ``trial`` (the numbers of its trials), ``is`` (baseline, best,
        chosen), ``objective`` (the mean), ``runs`` (seeds or folds) and ``spread`` (their standard deviation), its
        standing (see ``recx.evaluation.standings``), the settings as typed, ``seconds``, ``cached`` and ``reason``.
    """
    variants = conclusion.variants
    rows = [conclusion.standing(one) for one in variants]
    return {
        "rank": [conclusion.rank(one) if one.done else None for one in variants],
        "trial": [one.name for one in variants],
        "is": [conclusion.roles(one) for one in variants],
        "objective": [one.objective for one in variants],
        "runs": [one.runs for one in variants],
        "spread": [one.spread for one in variants],
        **{column: [row[column] for row in rows] for column in STANDING},
        **{name: [one.settings[name] for one in variants] for name in (variants[0].settings if variants else ())},
        "seconds": [one.seconds for one in variants],
        "cached": [one.cached for one in variants],
        "reason": [one.reason for one in variants],
    }


def pooled_table(conclusion: Conclusion) -> dict[str, list[Any]]:
    """Return the figures of all variants of several seeds or folds: ``trial``, their settings, and ``Pooled.table``."""
    heads = list(dict.fromkeys(name for one in conclusion.pooled.values() for name in one.table))
    settings = list(conclusion.variants[0].settings)
    columns: dict[str, list[Any]] = {name: [] for name in ("trial", *settings, *heads)}
    for one in conclusion.done:
        pooled = conclusion.pooled.get(one.name)
        n = 0 if pooled is None else len(pooled.table["metric"])
        of_variant = {"trial": [one.name] * n, **{name: [one.settings[name]] * n for name in settings}}
        for name, values in columns.items():
            values += of_variant.get(name) or (list(pooled.table.get(name, [math.nan] * n)) if pooled else [])
    return columns


def _says_something(name: str, values: Sequence[Any]) -> bool:
    """Return whether a column is worth its room on the console."""
    if name in ("runs", "spread"):
        return max(values, default=0) > 1 if name == "runs" else any(value == value for value in values)
    return name not in ("is", "reason", *STANDING) or any(value == value and value != "" for value in values)


def _pooled(pooled: Pooled) -> list[RenderableType]:
    """Return the figures of all runs of one chain end to end, with the range of the runs."""
    rows = []
    for metric in pooled.table["metric"]:
        row = pooled.row(metric)
        if "end_to_end/" in metric:
            values = (row["mean"], row["low"], row["high"], row["sd"])
            trend = [figure(row["trend"], "+", digits=4)] if pooled.repeat.trend else []
            rows.append([metric, *(figure(value, digits=4) for value in values), *trend])
    head = ["", "mean", "95 % low", "95 % high", f"sd over {pooled.repeat.name}s"]
    head += [f"per {pooled.repeat.name}"] if pooled.repeat.trend else []
    return ["", text_table.table(head, rows, left=[0], indent=False)]


def _head(name: str, objective: str) -> str:
    if name == "objective":
        return "/\n".join(objective.rsplit("/", 1))
    return HEADS.get(name, name)


def _cells(name: str, values: Sequence[Any]) -> list[str]:
    if name in ("objective", "spread"):
        return [figure(value, digits=4) for value in values]
    if name in ("difference", "low", "high"):
        return [figure(value, "+", digits=4) for value in values]
    if name in P_VALUES:
        return [p_value(value) for value in values]
    if name == "seconds":
        return [figure(value, digits=1) for value in values]
    if name == WITHOUT:
        values = [left_out(value) for value in values]
    texts = ["" if value is None else str(value) for value in values]
    return texts if name == "reason" else [cut(text, WIDEST_CELL) for text in texts]
