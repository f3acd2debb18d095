"""``python -m recx runs``: list past runs with their headline metrics and what distinguishes them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError, did_you_mean
from recx.core.exit_codes import DONE
from recx.core.metric_names import hint
from recx.core.system.screen import echo

if TYPE_CHECKING:
    from recx.tracking.past_run import PastRun

OUTPUTS = Path("outputs")
SHOWN = 50
"""Rows on the console, unless ``--limit`` is given."""


def run(arguments: Sequence[str]) -> int:
    """Print the table of past runs, newest first by default.

    Raises:
        InputError: A column, metric or setting is unknown, or the limit is below 1.
        RecxError: The store of ``outputs`` cannot be read.
    """
    chosen = parser().parse_args(_joined(arguments))
    if chosen.limit is not None and chosen.limit < 1:
        raise InputError(f"--limit {chosen.limit}: it must be a whole number of rows from 1 up")
    from recx.jobs.history import past_runs
    from recx.report.terminal import print_runs as table
    from recx.report.terminal.console import console_of_stdout

    runs = past_runs(OUTPUTS, trials=chosen.trials, uri=chosen.uri)
    if not runs:
        echo("no runs under outputs yet: start one with `python -m recx +experiment=news`", to=sys.stderr)
        return DONE
    found = runs
    for text in chosen.filter:
        found = _filtered(found, runs, text)
    found = _sorted(found, runs, chosen.sort)
    for name in chosen.metric or ():
        _check_metric(name, runs)
    form = {"latex": table.latex, "markdown": table.markdown, "csv": table.as_csv}.get(chosen.form)
    shown = found[: chosen.limit or (len(found) if form else SHOWN)]
    columns = table.cells(
        shown, chosen.metric or table.headlines(shown), exact=chosen.form == "csv", folds=chosen.trials
    )
    if form:
        echo(form(columns))
        return DONE
    table.print_runs(console_of_stdout(), columns)
    if len(shown) < len(found):
        echo(f"{len(shown)} of {len(found):,} runs: --limit {len(found)} shows all")
    return DONE


def parser() -> Parser:
    """Return the flags."""
    parser = Parser(prog="recx runs", description="List the runs under outputs, newest first.")
    parser.add_argument("--filter", action="append", default=[], metavar="TEXT", help="KEY=VALUE, or text; repeatable")
    parser.add_argument("--sort", metavar="COLUMN", default="-when", help="or a metric; -COLUMN: largest first")
    parser.add_argument("--metric", action="append", metavar="NAME", help="show this metric; repeatable")
    parser.add_argument("--limit", type=int, metavar="N", help=f"rows at most ({SHOWN} on the console)")
    parser.add_argument("--trials", action="store_true", help="include the trials of sweeps")
    parser.add_argument("--uri", help="the MLflow store (MLFLOW_TRACKING_URI, else the one under outputs)")
    form = parser.add_mutually_exclusive_group()
    for name, what in (("latex", "LaTeX (booktabs)"), ("markdown", "Markdown"), ("csv", "CSV, all digits")):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, default="", help=f"print {what}")
    return parser


def _joined(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with ``--sort -x`` as ``--sort=-x``, since argparse takes ``-x`` for an option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--sort":
            joined[-1] = f"--sort={argument}"
        else:
            joined.append(argument)
    return joined


def _filtered(found: Sequence[PastRun], runs: Sequence[PastRun], text: str) -> list[PastRun]:
    """Return the runs for which KEY=VALUE holds (a column, a setting or a group's option), or that contain a text."""
    from recx.tracking.past_run import option

    key, equals, value = text.partition("=")
    if not equals:
        return [run for run in found if text.lower() in " ".join(_texts(run).values()).lower()]
    chosen_by_all = all(key in _texts(run) or key in run.settings for run in runs)
    settings = {run: run.settings if chosen_by_all else run.configuration for run in runs}  # which is read from files
    known = {name for run in runs for name in (*_texts(run), *settings[run])}
    groups = {name.removesuffix("._target_") for name in known if name.endswith("._target_")}
    if key not in known | groups:
        raise InputError(f"--filter {text}: no run has a setting {key!r}: {did_you_mean(key, known | groups)}")

    def values(run: PastRun) -> tuple[str | None, ...]:
        return _texts(run).get(key), settings[run].get(key), option(run.settings, key)

    return [run for run in found if value in values(run)]


def _texts(run: PastRun) -> dict[str, str]:
    """Return the columns of a run that are text."""
    from recx.report.terminal.print_runs import what

    names = ("id", "experiment", "fold", "status", "name", "folder")
    return {name: getattr(run, name) for name in names} | {"sweep": run.tags.get("recx.sweep", ""), "what": what(run)}


def _sorted(found: Sequence[PastRun], runs: Sequence[PastRun], column: str) -> list[PastRun]:
    """Return the runs sorted by a column or metric, ascending (``-``: descending), those without a value last."""
    from recx.report.terminal.print_runs import COLUMNS

    name = column.removeprefix("-")
    if name in ("id", "experiment", "what", "fold", "status", "folder"):
        return sorted(found, key=lambda run: _texts(run)[name], reverse=column != name)
    if name not in COLUMNS:
        _check_metric(name, runs, COLUMNS)
        _check_order(name, [run for run in found if name in run.metrics])
    values = {
        run: {"when": run.start, "seconds": run.seconds}.get(name, run.metrics.get(name, math.nan)) for run in found
    }
    known = [run for run in found if not math.isnan(values[run])]
    ordered = sorted(known, key=values.__getitem__, reverse=column != name)
    return ordered + [run for run in found if math.isnan(values[run])]


def _check_order(name: str, runs: Sequence[PastRun]) -> None:
    """Raise InputError if a metric of the ranking stage would order runs with different candidates."""
    from recx.report.terminal.print_runs import is_of_ranking

    if not is_of_ranking(name) or all(run.retrieval == runs[0].retrieval for run in runs):
        return
    keys = {key for run in runs for key, text in run.retrieval.items() if runs[0].retrieval.get(key) != text}
    keys |= {key for run in runs for key in runs[0].retrieval if key not in run.retrieval}
    raise InputError(
        f"--sort {name}: it counts only the users whose target was retrieved, and these runs differ in "
        f"{', '.join(sorted(keys))}, so that the worst retriever may come first: sort by a metric of "
        f"end_to_end/, or keep runs of one retriever with --filter {min(keys)}=VALUE"
    )


def _check_metric(name: str, runs: Sequence[PastRun], columns: Sequence[str] = ()) -> None:
    known = {metric for run in runs for metric in run.metrics}
    if name not in known:
        kind = "column or metric" if columns else "metric"
        raise InputError(f"no run has a {kind} {name!r}: {hint(name, [*columns, *known])}")
