"""Writes a run's page into its folder, with the story that it is made from, and reads the story back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError
from recx.core.system.atomic import write_text
from recx.report.page.contents import VERSION, contents
from recx.report.page.render import render

if TYPE_CHECKING:
    from recx.experiment.experiment import Result

STORY, PAGE = "report.json", "report.html"


def write(
    result: Result, folder: Path, config: Mapping[str, Any], card: Mapping[str, Any], advice: Sequence[str] = ()
) -> None:
    """Write ``report.json`` and ``report.html`` of a run into its folder, which holds the run's other files already."""
    told = contents(result, folder, config, card, advice)
    save(folder, told, render(told))


def save(folder: Path, told: Mapping[str, Any], page: str) -> None:
    """Write a story and its page into a folder."""
    write_text(folder / STORY, json.dumps(told, ensure_ascii=False) + "\n")
    write_text(folder / PAGE, page)


def read(folder: Path) -> dict[str, Any]:
    """Return the story of a run.

    Raises:
        InputError: the run has none, or it is damaged or of another version of recx.
    """
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
