"""``python -m recx report RUN [RUN ...]``: the page of a run, made again; of several, a page that compares them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from recx.cli.commands.parser import Parser

REPORTS = Path("outputs/reports")
"""Where pages that compare runs go."""


def run(arguments: Sequence[str]) -> int:
    """Write the page of a run or a benchmark, or one that compares runs with the first, and print its path.

    Raises:
        InputError: there is no such run, it has no figures to compare, or a file of it is missing or damaged.
    """
    parser = Parser(prog="recx report", description="A page to look at: of one run, or of several side by side.")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's folder, its MLflow run id, or last")
    parser.add_argument("--output", type=Path, metavar="FILE", help=f"else RUN/report.html, of several in {REPORTS}")
    chosen = parser.parse_args(arguments)

    from recx.core.system.atomic import write_text

    text, place = _of_one(chosen.runs[0]) if len(chosen.runs) == 1 else _of_several(chosen.runs)
    path = chosen.output or place
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    print(path)
    return 0


def _of_one(run: str) -> tuple[str, Path]:
    """Return the page of a run or of a benchmark, and where it belongs."""
    from recx.report.page.write import PAGE

    folder = _folder(run)
    return made_again(folder), folder / PAGE


def made_again(folder: Path) -> str:
    """Return the page of the run or the benchmark in a folder, from the files there.

    Raises:
        InputError: one is missing, damaged or of another version of recx.
    """
    from recx.experiment.saved_runs import BENCHMARK
    from recx.jobs.benchmark.page import story_of_benchmark
    from recx.report.page import render, several_runs
    from recx.report.page.write import DATA, read

    if not (folder / BENCHMARK).is_file():
        return render.render(read(folder))
    return several_runs.render(read(folder) if (folder / DATA).is_file() else story_of_benchmark(folder))


def _folder(run: str) -> Path:
    from recx.experiment import saved_runs

    outputs = Path("outputs")
    if run == "last":
        return saved_runs.last(outputs, f"*/*/{saved_runs.BENCHMARK}")
    for folder in (Path(run), outputs / run, Path(saved_runs.tracked_folder(run, outputs) or run)):
        if (folder / saved_runs.BENCHMARK).is_file():
            return folder
    return saved_runs.load(run).folder


def _of_several(runs: Sequence[str]) -> tuple[str, Path]:
    """Return the page that compares the runs with the first, and where it belongs."""
    from recx.cli.commands.compare import end_to_end, named
    from recx.evaluation.compare import compare
    from recx.experiment import saved_runs
    from recx.report.page.several_runs import comparison_data, render

    saved = [saved_runs.load(run) for run in runs]
    evaluations = named(saved)
    comparison = compare(*map(end_to_end, evaluations))
    place = REPORTS / f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}.html"
    return render(comparison_data(saved, evaluations, comparison)), place
