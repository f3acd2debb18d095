"""Reproductions on the console, and as the table of the documentation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recx.jobs.reproduce.run import Reproduced
from recx.jobs.reproduce.spec import ORIGINS
from recx.jobs.reproduce.verdict import NOT_RUN, Row, summary
from recx.report.terminal import text_table
from recx.report.terminal.formats import figure
from recx.report.terminal.text_table import bullets, section, show

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"differs": "bold", "": "dim", "reproduced": ""}


def print_list(console: Console, found: Sequence[Reproduced]) -> None:
    """Print each reproduction: its name, what it reproduces, how many figures were, and where to get the data."""
    rows = [(one.reproduction.name, one.reproduction.title, _verdict(one)) for one in found]
    where = [f"{one.reproduction.name}: {one.reproduction.data.where}" for one in found]
    show(console, [text_table.table(("name", "what", "figures"), rows, left=(0, 1, 2), folding=(1, 2), indent=False)])
    show(console, section("where to get the data", bullets(where)))


def _verdict(one: Reproduced) -> str:
    measured = any(row.verdict for row in one.rows)
    return f"{one.verdict}{' (by recx)' if measured and not one.here else ''}"


def print_reproduced(console: Console, one: Reproduced) -> None:
    """Print each expected figure beside what was measured, then sources, notes, and what was not checked."""
    found = one.reproduction
    head = ("world", "chain", "metric", "expected", "±", "measured", "verdict")
    rows = [_cells(row) for row in one.rows]
    styles = [STYLES[row.verdict] for row in one.rows]
    table = text_table.table(head, rows, left=(0, 1, 2, 6), styles=styles, indent=False)
    show(console, [found.title, f"from {found.paper}", "", table, "", one.verdict])
    sources = dict.fromkeys(f"{row.chain or row.world}, {ORIGINS[row.origin]}: {row.source}" for row in one.rows)
    show(console, section("expected figures", bullets(list(sources))))
    unchecked = f"not compared, since no hash is known: {', '.join(one.unchecked)}" if one.unchecked else ""
    reasons = dict.fromkeys(
        f"{row.chain} in {row.world}: {row.measured.reason}" for row in one.rows if row.measured.reason
    )
    show(console, section("notes", bullets([text for text in (found.notes, unchecked, *reasons) if text])))


def _cells(row: Row) -> tuple[str, ...]:
    value, sd = row.measured.value, row.measured.sd
    measured = "" if math.isnan(value) else figure(value) + ("" if math.isnan(sd) else f" ± {figure(sd)}")
    name = row.metric.removeprefix("end_to_end/")
    return (row.world, row.chain, name, figure(row.expected), f"{row.tolerance:g}", measured, row.verdict or NOT_RUN)


def markdown(found: Sequence[Reproduced]) -> str:
    """Return the table of ``docs/reproductions.md``: a row for each world, chain and source of figures."""
    lines = [
        "| reproduction | world: chain | expected, by whom | measured | verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in found:
        of_source: dict[tuple[str, str, str], list[Row]] = {}
        for row in one.rows:
            of_source.setdefault((row.world, row.chain, f"{row.origin} {row.source}"), []).append(row)
        for (world, chain, _), rows in of_source.items():
            place = f"{world}: {chain}" if chain else world
            lines.append(
                f"| `{one.reproduction.name}` | {place} | {_expected(rows)} | {_measured(rows)} | {_words(rows)} |"
            )
    return "\n".join(lines) + "\n"


MOST = 4
"""Figures that a cell of the table names; of more, only their number is given."""


def _expected(rows: Sequence[Row]) -> str:
    whose = ORIGINS[rows[0].origin]
    if len(rows) > MOST:
        return f"{len(rows)} measures, {whose}"
    return f"{', '.join(f'{_short(row)} {row.expected:.4f}' for row in rows)}, {whose}"


def _measured(rows: Sequence[Row]) -> str:
    if not any(row.verdict for row in rows):
        return "–"
    if len(rows) > MOST:
        return f"largest difference {max(abs(row.measured.value - row.expected) for row in rows if row.verdict):.5f}"
    return ", ".join(f"{row.measured.value:.4f}" if row.verdict else "–" for row in rows)


def _words(rows: Sequence[Row]) -> str:
    """Return the verdict of all rows, or how many have which."""
    verdicts = {row.verdict for row in rows}
    return summary(rows) if len(verdicts) > 1 else verdicts.pop() or NOT_RUN


def _short(row: Row) -> str:
    return row.metric.removeprefix("end_to_end/")
