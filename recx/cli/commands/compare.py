"""``python -m recx compare RUN RUN ...``: compare runs, with intervals and tests; ``--ab``: an online test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recx.cli.commands import compare_ab
from recx.cli.commands.parser import RUN, URI, Parser
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo

if TYPE_CHECKING:
    from recx.core.evaluation import Evaluation
    from recx.experiment.saved_runs import SavedRun

STAGE = "end_to_end/"
"""The stage that is compared when no metric is named: what the user gets."""


def run(arguments: Sequence[str]) -> int:
    """Compare runs with the first one and print tables, JSON or an HTML page.

    Raises:
        InputError: There are fewer than two runs, a run, metric or slice is unknown, or a setting is out of range.
    """
    if any(word.partition("=")[0] == "--ab" for word in arguments):
        return compare_ab.run(arguments)
    chosen = parser().parse_args(arguments)
    if len(chosen.runs) < 2:
        raise InputError(
            f"recx compare: two runs or more are needed, got {len(chosen.runs)}: give their folders or MLflow run ids, "
            "or last"
        )
    from recx.evaluation.compare import compare

    runs, evaluations = load(chosen.runs, chosen.uri)
    comparison = compare(
        *(map(end_to_end, evaluations) if chosen.metrics is None else evaluations),
        metrics=None if chosen.metrics is None else [name.strip() for name in chosen.metrics.split(",")],
        by=chosen.by,
        level=chosen.level,
        resamples=chosen.resamples,
        seed=chosen.seed,
        anyway=chosen.anyway,
        margin=chosen.margin,
    )
    if chosen.html:
        from recx.report.page.several_runs import comparison_data, render

        echo(render(comparison_data(runs, evaluations, comparison)))
        return DONE
    from recx.experiment.saved_nouns import nouns_of_configs
    from recx.report.terminal.console import console_of_stdout
    from recx.report.terminal.print_comparison import json_of, print_comparison

    if chosen.json:
        echo(json_of(comparison))
    else:
        print_comparison(console_of_stdout(), comparison, nouns_of_configs(run.config for run in runs))
    return DONE


def parser() -> Parser:
    """Return the flags."""
    also = "--ab LOG compares the arms of an online test (--ab LOG --help)."
    parser = Parser(prog="recx compare", description="Compare runs with the first one, user by user.", epilog=also)
    parser.add_argument("runs", nargs="*", metavar="RUN", help=RUN)
    parser.add_argument("--metrics", metavar="A,B", help=f"full names of metrics (all of {STAGE})")
    parser.add_argument("--by", metavar="SLICE", help="also by quarters of history_length or item_popularity")
    parser.add_argument("--margin", type=float, metavar="D", help="also test whether runs differ by less than this")
    parser.add_argument("--level", type=float, default=0.95, help="level of the intervals (%(default)s)")
    parser.add_argument("--resamples", type=int, default=10_000, help="resamples of the bootstrap (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of resamples and sign flips (%(default)s)")
    parser.add_argument("--uri", help=URI)
    parser.add_argument("--anyway", action="store_true", help="show runs of other folds or data too, without tests")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--html", action="store_true", help="print an HTML page")
    return parser


def load(names: Sequence[str], uri: str | None = None) -> tuple[list[SavedRun], list[Evaluation]]:
    """Load runs and their evaluations, which are named after the runs' folders.

    Folders that share a name are told apart by the folder above.
    """
    from recx.experiment import saved_runs

    runs = [saved_runs.load(name, uri=uri) for name in names]
    paths = [run.folder.resolve() for run in runs]
    if len({path.name for path in paths}) == len(set(paths)):
        return runs, [run.evaluation for run in runs]
    named = (f"{path.parent.name}/{path.name}" for path in paths)
    return runs, [replace(run.evaluation, name=name) for run, name in zip(runs, named, strict=True)]


def end_to_end(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with the end-to-end metrics only."""
    values = {name: value for name, value in evaluation.values.items() if name.startswith(STAGE)}
    return replace(evaluation, values=values)
