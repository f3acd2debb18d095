"""The page of a run: ``story`` gathers what it shows, ``page`` renders it; ``comparison``: of several runs together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.errors import InputError
from recx.files import write_text

if TYPE_CHECKING:
    from recx.experiment import Result

STORY, PAGE = "report.json", "report.html"


def write(
    result: Result, folder: Path, config: Mapping[str, Any], card: Mapping[str, Any], advice: Sequence[str] = ()
) -> None:
    """Write ``report.json`` and ``report.html`` of a run into its folder, which holds the run's other files already."""
    from recx.report.page.page import render
    from recx.report.page.story import story

    told = story(result, folder, config, card, advice)
    _write(folder, told, render(told))


def write_benchmark(folder: Path) -> None:
    """Write ``report.json`` and ``report.html`` of a benchmark into its folder, from the files there.

    Called by what ran the benchmark: the words and the repository of this moment are the benchmark's.
    """
    from recx.checkout import git_state
    from recx.report.page.comparison import render, story_of_benchmark
    from recx.report.page.story_run import words

    told = story_of_benchmark(folder, words(), git_state())
    _write(folder, told, render(told))


def _write(folder: Path, told: Mapping[str, Any], page: str) -> None:
    write_text(folder / STORY, json.dumps(told, ensure_ascii=False) + "\n")
    write_text(folder / PAGE, page)


def made_again(folder: Path) -> str:
    """Return the page of the run or the benchmark in a folder, from the files there.

    Raises:
        InputError: one is missing, damaged or of another version of recx.
    """
    from recx.report.page import comparison
    from recx.report.page.page import render
    from recx.results import BENCHMARK

    if not (folder / BENCHMARK).is_file():
        return render(read(folder))
    told = read(folder) if (folder / STORY).is_file() else comparison.story_of_benchmark(folder)
    return comparison.render(told)


def read(folder: Path) -> dict[str, Any]:
    """Return the story of a run.

    Raises:
        InputError: the run has none, or it is damaged or of another version of recx.
    """
    from recx.report.page.story import VERSION

    path = folder / STORY
    if not path.is_file():
        raise InputError(
            f"{folder} has no {STORY}, as trials of sweeps, rankers of benchmarks and runs of an older recx have none: "
            "run the experiment on its own"
        )
    try:
        told = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is damaged and cannot be read ({error}): run the experiment again") from error
    if told.get("version") != VERSION:
        raise InputError(f"{path} was written by another version of recx: run the experiment again")
    return told
