"""``python -m recx runs``: the runs that there were, their headline figures, and what tells them apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from recx.tracking.past_run import PastRun

OUTPUTS = Path("outputs")
SHOWN = 50
"""Lines on the console, unless --limit says otherwise."""


def run(arguments: Sequence[str]) -> int:
    """Print the table of past runs, newest first unless sorted otherwise.

    Raises:
        InputError: an unknown column, metric or setting, or a limit below 1.
        RecxError: the store of ``outputs`` cannot be read.
    """
    chosen = _parser().parse_args(_joined(arguments))
    if chosen.limit is not None and chosen.limit < 1:
        raise InputError(f"--limit {chosen.limit}: it must be a whole number of lines from 1 up")
    from recx.jobs.history import past_runs
    from recx.report.terminal import print_runs as table

    every = past_runs(OUTPUTS, trials=chosen.trials)
    if not every:
        print("there are no runs under outputs yet: start one with `python -m recx +experiment=news`", file=sys.stderr)
        return 0
    found = every
    for words in chosen.filter:
        found = _filtered(found, every, words)
    found = _sorted(found, every, chosen.sort)
    form = {"latex": table.latex, "markdown": table.markdown, "csv": table.as_csv}.get(chosen.form or "")
    limit = chosen.limit or (len(found) if form else SHOWN)
    shown = found[:limit]
    for name in chosen.metric or ():
        _check_metric(name, every)
    columns = table.cells(shown, chosen.metric or table.headlines(shown), exact=chosen.form == "csv")
    if form:
        print(form(columns))
        return 0
    from recx.report.terminal.console import console_of_stdout

    table.print_runs(console_of_stdout(), columns)
    if len(shown) < len(found):
        print(f"{len(shown)} of {len(found):,} runs: --limit {len(found)} shows all")
    return 0


def _parser() -> Parser:
    parser = Parser(prog="recx runs", description="The runs that there were under outputs, newest first.")
    parser.add_argument("--filter", action="append", default=[], metavar="WORDS", help="KEY=VALUE, or words; several")
    parser.add_argument("--sort", metavar="COLUMN", default="-when", help="or a metric; -COLUMN: the largest first")
    parser.add_argument("--metric", action="append", metavar="NAME", help="a column of this metric; several")
    parser.add_argument("--limit", type=int, metavar="N", help=f"lines at most ({SHOWN} on the console)")
    parser.add_argument("--trials", action="store_true", help="the trials of sweeps as well")
    form = parser.add_mutually_exclusive_group()
    for name, what in (("latex", "LaTeX (booktabs)"), ("markdown", "Markdown"), ("csv", "CSV, all digits")):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=f"print {what}")
    return parser


def _joined(arguments: Sequence[str]) -> list[str]:
    """Return the words with ``--sort -x`` as one word, since a dash in front makes an option of the next."""
    words: list[str] = []
    for word in arguments:
        if words and words[-1] == "--sort":
            words[-1] = f"--sort={word}"
        else:
            words.append(word)
    return words


def _filtered(runs: Sequence[PastRun], every: Sequence[PastRun], words: str) -> list[PastRun]:
    """Return the runs that KEY=VALUE holds for (a column, a setting, a group's option), or in which the words occur."""
    key, equals, value = words.partition("=")
    if not equals:
        return [run for run in runs if words.lower() in _told(run).lower()]
    known = {name for run in every for name in (*_facts(run), *run.settings)}
    groups = {name.removesuffix("._target_") for name in known if name.endswith("._target_")}
    if key not in known | groups:
        raise InputError(f"--filter {words}: no run has a setting {key!r}: {did_you_mean(key, known | groups)}")
    return [run for run in runs if value in _values(run, key)]


def _values(run: PastRun, key: str) -> list[str]:
    from recx.tracking.past_run import option

    return [
        *(told[key] for told in (_facts(run), run.settings) if key in told),
        *filter(None, [option(run.settings, key)]),
    ]


def _facts(run: PastRun) -> dict[str, str]:
    return {
        "id": run.id,
        "experiment": run.experiment,
        "status": run.status,
        "name": run.name,
        "sweep": run.tags.get("recx.sweep", ""),
    }


def _told(run: PastRun) -> str:
    from recx.report.terminal.print_runs import what

    return " ".join([*_facts(run).values(), what(run), run.folder])


def _sorted(runs: Sequence[PastRun], every: Sequence[PastRun], column: str) -> list[PastRun]:
    """Return the runs by a column or metric, the smallest first (``-``: the largest); those without it are last."""
    from recx.report.terminal.print_runs import COLUMNS, what

    name = column.removeprefix("-")
    texts: dict[str, Callable[[PastRun], str]] = {
        "id": lambda run: run.id,
        "experiment": lambda run: run.experiment,
        "what": what,
        "status": lambda run: run.status,
        "folder": lambda run: run.folder,
    }
    if name in texts:
        return sorted(runs, key=texts[name], reverse=column != name)
    if name not in COLUMNS:
        _check_metric(name, every, COLUMNS)

    def number(run: PastRun) -> float:
        return {"when": run.start, "seconds": run.seconds}.get(name, run.metrics.get(name, float("nan")))

    known = [run for run in runs if number(run) == number(run)]
    return sorted(known, key=number, reverse=column != name) + [run for run in runs if number(run) != number(run)]


def _check_metric(name: str, every: Sequence[PastRun], columns: Sequence[str] = ()) -> None:
    known = {metric for run in every for metric in run.metrics}
    if name not in known:
        kind = "column or metric" if columns else "metric"
        raise InputError(f"no run has a {kind} {name!r}: {did_you_mean(name, [*columns, *known])}")
