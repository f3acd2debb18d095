"""The output of a study: its tables on the console, as files for people, papers and programs, and as a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from recx.core.errors import InputError
from recx.core.metric_names import split_name
from recx.core.system.atomic import replacing, write_text
from recx.core.system.plain_files import read_text
from recx.core.system.serialize import as_json
from recx.jobs.study.page import MEGABYTE, figures_of, html_of
from recx.jobs.study.paper import paper_table
from recx.jobs.study.sentences import sentences
from recx.jobs.study.tables import StudyTables, of_document
from recx.report.charts.figures import document
from recx.report.paper_table import PaperCell, PaperTable, latex, of_markdown
from recx.report.terminal import text_table
from recx.report.terminal.formats import ABSENT, count, significant
from recx.report.terminal.text_table import bullets, section, show, whole

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SUMMARY, PAGE, DATA = "summary", "study.html", "study.json"
VERSION = 2
"""Format of ``study.json``; pages can be rendered again from this version only."""


def write_outputs(study: str, tables: StudyTables, folder: Path) -> list[Path]:
    """Write the page ``study.html``, and in ``summary`` the page again, data, tables for papers, CSV files and figures.

    Args:
        study: The name of the study.
        tables: What came of it.
        folder: Its folder.

    Returns:
        The paths of the files in ``summary``.
    """
    summary = folder / SUMMARY
    summary.mkdir(parents=True, exist_ok=True)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    papers = [paper_table(study, tables, metric) for metric in tables.metrics]
    texts = {
        DATA: as_json({"version": VERSION, "study": study, "when": when, **tables.document()}),
        f"{study}.tex": "\n".join(map(latex, papers)),
        f"{study}.md": "\n".join(map(of_markdown, papers)),
        PAGE: html_of(study, tables, when),
    }
    for metric, of_metric in figures_of(tables).items():
        if of_metric.ranks is not None:
            texts[f"critical_difference_{_file_name(metric)}.svg"] = document([of_metric.ranks])
        if of_metric.differences:
            texts[f"differences_{_file_name(metric)}.svg"] = document(of_metric.differences)
    for name, text in texts.items():
        write_text(summary / name, text)
    frames = {f"table_{_file_name(metric)}": table for metric, table in tables.pivot.items()}
    frames |= {f"ranks_{_file_name(metric)}": _ranks_frame(tables, metric) for metric in tables.metrics}
    for name, frame in {**frames, "costs": tables.costs, "runs": tables.runs}.items():
        with replacing(summary / f"{name}.csv") as temporary:
            frame.to_csv(temporary, index=False)
    write_text(folder / PAGE, texts[PAGE])
    return [*(summary / name for name in texts), *(summary / f"{name}.csv" for name in (*frames, "costs", "runs"))]


def read_tables(folder: Path) -> tuple[str, StudyTables, str]:
    """Return the name of a finished study, its tables, and when they were made.

    Args:
        folder: The folder of the study.

    Raises:
        InputError: It holds no finished study, or its file is damaged or of another version of recx.
    """
    path = folder / SUMMARY / DATA
    if not path.is_file():
        raise InputError(f"{folder} holds no finished study: it has no {SUMMARY}/{DATA}: resume it to its end")
    again = "run `python -m recx study NAME resume`, which writes it anew"
    try:
        content = json.loads(read_text(path))
        if content["version"] != VERSION:
            raise InputError(f"{path} was written by another version of recx: {again}")
        return str(content["study"]), of_document(content), str(content["when"])
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} is damaged and cannot be read ({error!r}): {again}") from error


def print_study(console: Console, tables: StudyTables, folder: Path | None = None) -> None:
    """Print of each metric the table and what it says, then seconds and memory, and where the files are.

    Args:
        console: Where to print.
        tables: What came of a study.
        folder: Its folder; None: the paths are not printed.
    """
    show(console, section("read this first", bullets(tables.cautions), "bold yellow"))
    papers = [paper_table("", tables, metric) for metric in tables.metrics]
    how = [f"{'. '.join(paper.sentences)}." for paper in papers]
    for metric, paper, said, following in zip(tables.metrics, papers, how, [*how[1:], ""], strict=True):
        show(console, section(metric, list(_printed(paper)), "bold cyan"), text_table.room(console))
        show(console, bullets(sentences(tables, metric)))
        if said != following:  # once below all tables that are read alike
            show(console, ["", Text(said, "dim")])
    show(console, section("seconds, and memory in MB", [_costs(tables)]), text_table.room(console))
    if folder is not None:
        paths = {"tables": folder / SUMMARY, "page": folder / PAGE}
        show(console, ["", *(whole(f"{name} {path}") for name, path in paths.items())], text_table.room(console))


def _printed(paper: PaperTable) -> Iterator[RenderableType]:
    rows: list[list[str | Text]] = [[name, *map(_shown, cells)] for name, cells in paper.rows]
    yield text_table.table(["chain", *paper.head], rows)
    yield from (f"  {place} {note}" for place, note in enumerate(paper.notes, start=1))


def _shown(cell: PaperCell) -> Text:
    style = {1: "bold", 2: "underline"}.get(cell.place, "")
    rest = f"{f' ± {cell.spread}' if cell.spread else ''}{cell.marks}{f' ({cell.note})' if cell.note else ''}"
    return Text.assemble((cell.figure or ABSENT, style), rest)


def _costs(tables: StudyTables) -> RenderableType:
    rows = {(row["chain"], row["world"]): row for row in tables.costs.to_dict("records")}
    cells = [
        [
            chain,
            *(
                f"{significant(rows[chain, world]['seconds'])}  {count(rows[chain, world]['memory'] // MEGABYTE)}"
                for world in tables.worlds
            ),
        ]
        for chain in tables.chains
    ]
    return text_table.table(["chain", *tables.worlds], cells)


def _ranks_frame(tables: StudyTables, metric: str) -> Any:
    """Return a row per ranked chain, with the figures of the tests in each."""
    import pandas as pd

    found = tables.ranks[metric]
    groups = {
        chain: [place for place, group in enumerate(found.groups, start=1) if chain in group] for chain in found.ranks
    }
    return pd.DataFrame(
        {
            "chain": list(found.ranks),
            "average_rank": list(found.ranks.values()),
            "groups": [" ".join(map(str, places)) for places in groups.values()],
            "worlds": len(found.worlds),
            "friedman": found.friedman,
            "p_friedman": found.p_friedman,
            "p": found.p,
            "critical_difference": found.critical_difference,
        }
    )


def _file_name(metric: str) -> str:
    """Return what a metric is called in file names: without the stage that is meant where none is named."""
    stage, _, _ = split_name(metric)
    return metric.removeprefix("end_to_end/") if stage == "end_to_end" else metric.replace("/", "_")
