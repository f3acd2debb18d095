"""The table of one metric as a paper prints it: mean ± standard deviation, stars, daggers, notes on dashes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from recx.core.metric_names import lower_is_better
from recx.evaluation.studies import DAGGER, STAR
from recx.evaluation.warnings import SIGNIFICANT
from recx.jobs.study.tables import StudyTables
from recx.report.paper_table import PaperCell, PaperTable
from recx.report.terminal.formats import figure

RANK, AVERAGE = "average rank", "mean of the worlds"
"""The heads of the columns beside those of the worlds."""


def paper_table(study: str, tables: StudyTables, metric: str) -> PaperTable:
    """Return the table of a metric: a row per chain, a column per world, and one of the average ranks.

    Args:
        study: The name of the study.
        tables: What came of it.
        metric: The full name of the metric.
    """
    rows = {(row["chain"], row["world"]): row for row in tables.pivot[metric].to_dict("records")}
    notes: dict[str, int] = {}
    places = {
        world: _places({chain: rows[chain, world]["mean"] for chain in tables.chains}, metric)
        for world in tables.worlds
    }
    cells = {
        chain: [_cell(rows[chain, world], places[world].get(chain, 0), notes) for world in tables.worlds]
        for chain in tables.chains
    }
    head = [*tables.worlds]
    if tables.average:
        head.append(AVERAGE)
        means = {str(chain): mean for chain, mean in tables.averages(metric).items()}
        order = _places(means, metric)
        for chain, of_chain in cells.items():
            of_chain.append(PaperCell(_text(means[chain]), place=order.get(chain, 0)))
    ranks = tables.ranks[metric].ranks
    if len(tables.ranks[metric].worlds) > 1:
        head.append(RANK)
        for chain, of_chain in cells.items():
            of_chain.append(PaperCell(f"{ranks[chain]:.2f}" if chain in ranks else ""))
    return PaperTable(
        label=re.sub(r"[^A-Za-z0-9-]+", "-", f"{study}-{metric}"),
        title=f"{study}: {metric}{', smaller is better' if lower_is_better(metric) else ''}",
        sentences=list(_sentences(tables, metric)),
        head=head,
        rows=list(cells.items()),
        notes=list(notes),
    )


def _cell(row: Mapping[str, Any], place: int, notes: dict[str, int]) -> PaperCell:
    """Return a cell; a reason gets the number of its note, and is added to these."""
    note = notes.setdefault(row["reason"], len(notes) + 1) if row["reason"] else 0
    return PaperCell(_text(row["mean"]), _text(row["sd"]), row["stars"], place, note)


def _text(value: float) -> str:
    return figure(value) if value == value else ""


def _places(means: Mapping[str, float], metric: str) -> dict[str, int]:
    """Return 1 for the best and 2 for the second, by the figures as they are printed: what looks equal is marked so."""
    shown = {chain: float(figure(mean).replace(",", "")) for chain, mean in means.items() if mean == mean}
    order = sorted(set(shown.values()), reverse=not lower_is_better(metric))[:2]
    return {chain: order.index(value) + 1 for chain, value in shown.items() if value in order}


def _sentences(tables: StudyTables, metric: str) -> Iterator[str]:
    table, seeds = tables.pivot[metric], len(tables.seeds)
    yield f"Mean ± standard deviation over {seeds} seeds" if seeds > 1 else "Of one seed"
    against = {"p": (STAR, f"the baseline {tables.baseline}"), "p_best": (DAGGER, "the best of its world")}
    tests = {mark: (name, int(table[p].notna().sum())) for p, (mark, name) in against.items()}
    said = [f"{mark}: told apart from {name} (of {count} tests)" for mark, (name, count) in tests.items() if count]
    if said:
        yield (
            f"{'; '.join(said)}, paired randomisation test over {tables.nouns.users}, two-sided, p < {SIGNIFICANT} "
            "by Holm's method over these tests"
        )
    if tables.average:
        yield (
            f"{AVERAGE.capitalize()}: each world counts the same, however many {tables.nouns.users} it has and "
            "whatever its scale is"
        )
    if len(tables.ranks[metric].worlds) > 1:
        yield f"{RANK.capitalize()}: over {len(tables.ranks[metric].worlds)} worlds, 1 is the best"
