"""A reproduction from its data to its verdict: ``recx.reproduce`` and ``python -m recx reproduce``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError
from recx.core.system.atomic import write_text
from recx.core.system.plain_files import read_text
from recx.core.system.screen import echo
from recx.jobs.reproduce.data import Found, check_counts, find, resolved
from recx.jobs.reproduce.lists import figures_of_lists
from recx.jobs.reproduce.spec import ORIGINS, Reproduction, load
from recx.jobs.reproduce.verdict import Figures, Measured, Row, figures_of, rows_of, summary
from recx.jobs.study import lock
from recx.jobs.study.run import HOME as STUDIES
from recx.jobs.study.start import Request, start

if TYPE_CHECKING:
    import pandas as pd

HOME = Path("outputs", "reproductions")
"""Where the figures of the last run of each reproduction are kept, for ``list``."""
ELSEWHERE = ("dataset.", "runtime.", "tracker")
"""The keys that a command line may set: where files lie, and what no figure depends on."""


@dataclass(frozen=True)
class Reproduced:
    """A reproduction with what was measured.

    Attributes:
        reproduction: What its file says.
        rows: Each expected figure, what was measured, and the verdict.
        here: Whether the figures are from a run in this working directory; else they are those of its file.
        unchecked: Files whose content was not compared, since its hash is not known.
    """

    reproduction: Reproduction
    rows: Sequence[Row]
    here: bool = False
    unchecked: Sequence[str] = ()

    @property
    def verdict(self) -> str:
        """How many figures were reproduced, differ and were not measured."""
        return summary(self.rows)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per expected figure, with ``expected``, ``measured`` and ``verdict``; NaN and "" if not measured."""
        import pandas as pd

        return pd.DataFrame([_flat(row) for row in self.rows])

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        found = self.reproduction
        told = {"name": found.name, "title": found.title, "paper": found.paper, "data": found.data.where}
        made = {"run": "here" if self.here else "by recx" if any(row.verdict for row in self.rows) else ""}
        rows = [_flat(row) for row in self.rows]
        return {**told, "notes": found.notes, **made, "verdict": self.verdict, "figures": rows}


def _flat(row: Row) -> dict[str, Any]:
    measured = {"measured": row.measured.value, "sd": row.measured.sd, "seeds": row.measured.seeds}
    expected = {
        "expected": row.expected,
        "tolerance": row.tolerance,
        "origin": ORIGINS[row.origin],
        "source": row.source,
    }
    place = {"world": row.world, "chain": row.chain, "metric": row.metric}
    return {**place, **expected, **measured, "verdict": row.verdict, "reason": row.measured.reason}


def reproduce(name: str, *words: str, data: str | Path | None = None) -> Reproduced:
    """Run a reproduction, as ``python -m recx reproduce NAME`` does: check its data, run its study, compare.

    Args:
        name: Its name, as ``known()`` and ``python -m recx reproduce list`` show it, or the path of its file.
        words: Such as ``jobs=2``, ``chains=ease`` or ``dataset.path=FILE``.
        data: The folder of its data.

    Raises:
        InputError: There is none, its data is not there or is other data, or the study cannot be run.
    """
    request = Request.of([*words, *([] if data is None else [f"data={data}"])])
    for word in request.overrides:
        if not word.lstrip("+").startswith(ELSEWHERE):
            raise InputError(
                f"reproduce {name}: {word}: it would change the protocol, and so what the figures mean: leave it out, "
                "or run the file as a study of your own"
            )
    found = load(name)
    folder = None if request.data is None else Path(request.data).expanduser()
    files = find(found, folder, request.overrides)
    figures = _of_lists(found, files) if found.study is None else _of_study(found, files, request)
    _keep(found, figures)
    return Reproduced(found, rows_of(found, figures), True, files.unchecked)


def _of_lists(found: Reproduction, files: Found) -> Figures:
    return figures_of_lists(found, files.files)


def _of_study(found: Reproduction, files: Found, request: Request) -> Figures:
    """Run the study, or what is missing of it."""
    study = resolved(found.content, files)
    wanted = replace(request, name=request.name or found.name)
    check_counts(found, study, wanted)
    started = (STUDIES / str(wanted.name) / lock.FILE).is_file()
    result = start(study, wanted, resume=started)
    for one in result.outcomes:
        if one.reason:
            echo(f"{one.cell.chain} in {one.cell.world}, seed {one.cell.seed}: {one.reason}")
    return figures_of(result.outcomes)


def _keep(found: Reproduction, figures: Figures) -> None:
    """Keep the figures of a run in this working directory."""
    HOME.mkdir(parents=True, exist_ok=True)
    kept = [{"place": list(place), **vars(one)} for place, one in figures.items()]
    write_text(HOME / f"{found.name}.json", json.dumps(kept, indent=1) + "\n")


def last(found: Reproduction) -> Reproduced:
    """Return a reproduction with the figures of its last run in this working directory, or else those of its file."""
    with suppress(OSError, InputError, ValueError, TypeError, KeyError):
        kept: list[Mapping[str, Any]] = json.loads(read_text(HOME / f"{found.name}.json", own=True))
        figures = {tuple(one["place"]): Measured(*(one[key] for key in Measured.__annotations__)) for one in kept}
        return Reproduced(found, rows_of(found, figures), True)
    return Reproduced(found, rows_of(found))


def known() -> list[Reproduced]:
    """Return all reproductions, with the figures that are known of them.

    Raises:
        InputError: The file of one is wrong.
    """
    from recx.jobs.reproduce.spec import names

    return [last(load(name)) for name in names()]
