"""Writes a run's page into its folder, together with the data that it is made from, and reads these back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError
from recx.core.secrets import hidden_in
from recx.core.system.atomic import write_text
from recx.core.system.plain_files import read_text
from recx.core.types import Array
from recx.report.page.contents import VERSION, contents
from recx.report.page.render import TEMPLATES, render

if TYPE_CHECKING:
    from recx.experiment.experiment import Result

DATA, PAGE = "report.json", "report.html"


def write(
    result: Result,
    folder: Path,
    config: Mapping[str, Any],
    card: Mapping[str, Any],
    advice: Sequence[str] = (),
    lost: Mapping[str, Array] = MappingProxyType({}),
) -> None:
    """Write ``report.json`` and ``report.html`` of a run into its folder, which contains its other files already.

    Args:
        result: The run.
        folder: Its folder.
        config: The composed configuration.
        card: The protocol card.
        advice: Sentences on what the figures suggest to do.
        lost: The permutation importance of the features (see ``recx.experiment.permutation``).
    """
    page = contents(result, folder, config, card, advice, lost)
    save(folder, page, render(page))


def save(folder: Path, page: Mapping[str, Any], html: str) -> None:
    """Write the data of a page and its HTML into a folder."""
    write_text(folder / DATA, json.dumps(page, ensure_ascii=False) + "\n")
    write_text(folder / PAGE, html)


def is_page(path: Path) -> bool:
    """Return whether a file is a page of recx, or empty."""
    start = (TEMPLATES / "base.html.jinja").read_text(encoding="utf-8").partition("{{")[0].encode()
    with path.open("rb") as file:
        return file.read(len(start)) in (start, b"")


def read(folder: Path) -> dict[str, Any]:
    """Return the data of a run's page.

    Raises:
        InputError: The run has none, or the file is damaged or of another version of recx.
    """
    path = folder / DATA
    if not path.is_file():
        raise InputError(
            f"{folder} has no {DATA}: trials of sweeps, rankers of benchmarks and runs of older versions of recx have "
            "none: run the experiment on its own"
        )
    try:
        page = dict(hidden_in(json.loads(read_text(path))))
    except InputError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{path} is damaged and cannot be read ({error}): run the experiment again") from error
    if page.get("version") != VERSION:
        raise InputError(f"{path} was written by another version of recx: run the experiment again")
    return page
