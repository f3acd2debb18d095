"""``python -m recx report RUN [RUN ...]``: write the page of a run or a study again, or one that compares runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from recx.cli.commands.parser import RUN, URI, Parser
from recx.core.errors import InputError
from recx.core.exit_codes import DONE
from recx.core.system.screen import echo

OUTPUTS = Path("outputs")
STUDIES = OUTPUTS / "studies"
REPORTS = OUTPUTS / "reports"
"""Where pages that compare runs are written."""


def run(arguments: Sequence[str]) -> int:
    """Write the page of a run, benchmark or study, or of several runs or benchmarks, and print its path.

    Raises:
        InputError: A run does not exist or has nothing to compare, or one of its files is missing or damaged.
    """
    chosen = parser().parse_args(arguments)

    from recx.core.system.atomic import write_text

    if len(chosen.runs) == 1:
        folder = _folder(chosen.runs[0], chosen.uri)
        text, path = page_of(folder), folder / _page_name(folder)
    else:
        text = _comparison(chosen.runs, chosen.uri, chosen.anyway)
        path = REPORTS / f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}.html"
    path = chosen.output or path
    _refuse_other(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    echo(path)
    return DONE


def parser() -> Parser:
    """Return the flags."""
    about = "Write a page: of one run, benchmark or study, of several runs, or of benchmarks on several machines."
    parser = Parser(prog="recx report", description=about)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    parser.add_argument("--output", type=Path, metavar="FILE", help=f"(RUN/report.html; of several runs: {REPORTS})")
    parser.add_argument("--uri", help=URI)
    parser.add_argument("--anyway", action="store_true", help="runs of other folds or data too, without tests")
    return parser


def _refuse_other(path: Path) -> None:
    """Raise InputError if a file exists already that is no page of recx."""
    from recx.report.page.write import is_page

    if os.path.lexists(path) and not (path.is_file() and is_page(path)):
        raise InputError(f"--output={path}: it exists already and is not a page of recx: choose another name")


def page_of(folder: Path) -> str:
    """Return the page of the run, benchmark or study in a folder, made from the files there.

    Raises:
        InputError: A file is missing, damaged or of another version of recx.
    """
    from recx.experiment.saved_runs import BENCHMARK
    from recx.experiment.saved_tables import reading
    from recx.jobs.benchmark.page import benchmark_data
    from recx.report.page import render, several_runs
    from recx.report.page.write import DATA, read

    if _is_study(folder):
        return _study(folder)
    is_benchmark = (folder / BENCHMARK).is_file()
    page = benchmark_data(folder) if is_benchmark and not (folder / DATA).is_file() else read(folder)
    with reading(folder / (BENCHMARK if is_benchmark else DATA)):
        return several_runs.render(page) if is_benchmark else render.render(page)


def _is_study(folder: Path) -> bool:
    from recx.jobs.study.output import DATA, SUMMARY

    return (folder / SUMMARY / DATA).is_file()


def _page_name(folder: Path) -> str:
    from recx.jobs.study import output
    from recx.report.page.write import PAGE

    return output.PAGE if _is_study(folder) else PAGE


def _study(folder: Path) -> str:
    """Return the page of a study."""
    from recx.experiment.saved_tables import reading
    from recx.jobs.study.output import DATA, SUMMARY, read_tables
    from recx.jobs.study.page import html_of

    study, tables, when = read_tables(folder)
    with reading(folder / SUMMARY / DATA):
        return html_of(study, tables, when)


def _folder(run: str, uri: str | None) -> Path:
    from recx.experiment import saved_runs
    from recx.experiment.tracked_runs import tracked_folder

    if run == "last":
        return saved_runs.last(OUTPUTS, f"*/*/{saved_runs.BENCHMARK}")
    for folder in (Path(run), OUTPUTS / run, STUDIES / run, Path(tracked_folder(run, OUTPUTS, uri) or run)):
        if (folder / saved_runs.BENCHMARK).is_file() or _is_study(folder):
            return folder
    return saved_runs.load(run, uri=uri).folder


def _benchmarks(names: Sequence[str], uri: str | None) -> list[Path]:
    """Return the folders of benchmarks if all names are of some; [] if none is.

    Raises:
        InputError: Some are of benchmarks and others are not.
    """
    from recx.experiment import saved_runs
    from recx.experiment.tracked_runs import tracked_folder

    def benchmark(run: str) -> Path | None:
        places: tuple[Path, ...] = (Path(run), OUTPUTS / run) if run != "last" else (_folder(run, uri),)
        if not any(place.exists() for place in places):
            tracked = tracked_folder(run, OUTPUTS, uri)
            places = () if tracked is None else (Path(tracked),)
        return next((place for place in places if (place / saved_runs.BENCHMARK).is_file()), None)

    found = {name: benchmark(name) for name in names}
    if any(found.values()) and not all(found.values()):
        of, other = (next(name for name, folder in found.items() if bool(folder) is kind) for kind in (True, False))
        raise InputError(
            f"report: {of} is a benchmark and {other} is not: name the benchmarks of several machines, or for a "
            f"comparison of runs the folders of its rankers, such as {of}/RANKER"
        )
    return [folder for name in names if (folder := found[name]) is not None]


def _comparison(names: Sequence[str], uri: str | None, anyway: bool) -> str:
    """Return the page that compares runs with the first, or benchmarks of several machines."""
    benchmarks = _benchmarks(names, uri)
    if benchmarks:
        from recx.jobs.benchmark.machines_page import html_of_machines

        return html_of_machines(benchmarks, anyway)
    from recx.cli.commands.compare import end_to_end, load
    from recx.evaluation.compare import compare
    from recx.report.page.several_runs import comparison_data, render

    runs, evaluations = load(names, uri)
    return render(comparison_data(runs, evaluations, compare(*map(end_to_end, evaluations), anyway=anyway)))
