"""``python -m recx compare RUN RUN ...``: which run is better, and could it be chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recx.cli.commands.parser import Parser
from recx.core.errors import InputError

if TYPE_CHECKING:
    from recx.core.evaluation import Evaluation
    from recx.experiment.saved_runs import SavedRun

LINE = "end_to_end/"
"""The line that is compared when no metric is named: what the user gets."""


def run(arguments: Sequence[str]) -> int:
    """Compare runs with the first one and print the outcome as tables, JSON or a page of HTML.

    Raises:
        InputError: fewer than two runs, an unknown run, metric or slice, a setting out of range.
    """
    chosen = _parser().parse_args(arguments)
    if len(chosen.runs) < 2:
        raise InputError(
            f"recx compare: it takes two runs or more, and there are {len(chosen.runs)}: name their folders or MLflow "
            "run ids, or say last"
        )
    from recx.evaluation.compare import compare
    from recx.experiment import saved_runs
    from recx.report.terminal.print_comparison import json_of, print_comparison

    saved = [saved_runs.load(run) for run in chosen.runs]
    evaluations = named(saved)
    comparison = compare(
        *(map(end_to_end, evaluations) if chosen.metrics is None else evaluations),
        metrics=None if chosen.metrics is None else [name.strip() for name in chosen.metrics.split(",")],
        by=chosen.by,
        level=chosen.level,
        resamples=chosen.resamples,
        seed=chosen.seed,
    )
    if chosen.json:
        print(json_of(comparison))
    elif chosen.html:
        from recx.report.page.several_runs import comparison_data, render

        print(render(comparison_data(saved, evaluations, comparison)))
    else:
        from recx.report.terminal.console import console_of_stdout

        print_comparison(console_of_stdout(), comparison)
    return 0


def _parser() -> Parser:
    parser = Parser(prog="recx compare", description="Compare runs with the first one, user by user.")
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a run's folder, its MLflow run id, or last")
    parser.add_argument("--metrics", metavar="A,B", help=f"their full names; else all of {LINE}")
    parser.add_argument("--by", metavar="SLICE", help="also by quarters of history_length or item_popularity")
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals (0.95)")
    parser.add_argument("--resamples", type=int, default=10_000, help="of the bootstrap (10000)")
    parser.add_argument("--seed", type=int, default=0, help="of resamples and sign flips (0)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--html", action="store_true", help="print a page of HTML")
    return parser


def named(saved: Sequence[SavedRun]) -> list[Evaluation]:
    """Return the figures of runs, called by their folders; folders of one name by the folder above as well."""
    folders = {run.folder.resolve() for run in saved}
    alike = len({folder.name for folder in folders}) < len(folders)
    loaded = [run.evaluation for run in saved]
    if not alike:
        return loaded
    paths = [run.folder.resolve() for run in saved]
    return [replace(one, name=f"{path.parent.name}/{path.name}") for one, path in zip(loaded, paths, strict=True)]


def end_to_end(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with the metrics of what the user gets alone."""
    values = {name: value for name, value in evaluation.values.items() if name.startswith(LINE)}
    return replace(evaluation, values=values)
