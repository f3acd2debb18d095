"""The page of a study, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from recx.core.resampling import Procedure
from recx.core.system.serialize import plain
from recx.evaluation.average_ranks import AverageRanks
from recx.jobs.study.paper import AVERAGE, RANK, paper_table
from recx.jobs.study.sentences import sentences
from recx.jobs.study.tables import StudyTables
from recx.report.charts.charts import bars
from recx.report.charts.ranks import critical_difference
from recx.report.charts.svg import Chart
from recx.report.page.render import render, short

MEGABYTE = 1e6


@dataclass(frozen=True)
class Figures:
    """The figures of one metric.

    Attributes:
        ranks: The critical-difference diagram; None where ranks are not tested.
        differences: Of each world, the differences from the baseline; empty where nothing is tested.
    """

    ranks: Chart | None
    differences: tuple[Chart, ...]


def figures_of(tables: StudyTables) -> dict[str, Figures]:
    """Return the figures of each metric."""
    return {
        metric: Figures(_ranks(metric, tables.ranks[metric]), tuple(_differences(tables, metric)))
        for metric in tables.metrics
    }


def _ranks(metric: str, ranks: AverageRanks) -> Chart | None:
    if ranks.untested:
        return None
    title = f"{short(metric)}: average ranks over {len(ranks.worlds)} worlds; bars join chains not told apart (Nemenyi)"
    return critical_difference(title, ranks.ranks, ranks.critical_difference, ranks.groups)


def _differences(tables: StudyTables, metric: str) -> list[Chart]:
    table = tables.pivot[metric]
    charts = []
    for world in tables.worlds:
        rows = table[(table["world"] == world) & table["p"].notna()]
        if len(rows):
            title = f"{short(metric)} in {world}: difference from {tables.baseline}, with 95 % intervals"
            ends = {name: rows[name].tolist() for name in ("difference", "low", "high")}
            charts.append(bars(title, rows["chain"].tolist(), ends["difference"], low=ends["low"], high=ends["high"]))
    return charts


def html_of(study: str, tables: StudyTables, when: str) -> str:
    """Return the page: cautions, conclusion, a table and figures of each metric, costs, and all runs.

    Args:
        study: The name of the study.
        tables: What came of it.
        when: When that was, an ISO timestamp in UTC.
    """
    counts = {"chains": tables.chains, "worlds": tables.worlds, "seeds": tables.seeds}
    costs = {(row["chain"], row["world"]): _with_megabytes(row) for row in tables.costs.to_dict("records")}
    page = {
        "title": f"study {study}",
        "name": study,
        "when": when,
        "about": " × ".join(f"{len(names)} {kind if len(names) != 1 else kind[:-1]}" for kind, names in counts.items())
        + (f", baseline {tables.baseline}" if tables.baseline else ""),
        "cautions": tables.cautions,
        "metrics": [_metric(study, tables, metric, place) for place, metric in enumerate(tables.metrics, start=1)],
        "worlds": tables.worlds,
        "costs": [
            {"chain": chain, "cells": [costs[chain, world] for world in tables.worlds]} for chain in tables.chains
        ],
        "runs": [_with_megabytes(row) for row in tables.runs.to_dict("records")],
        "nouns": vars(tables.nouns),
        "procedure": Procedure().in_words(_most_users(tables)),
    }
    return render({**plain(page), "charts": figures_of(tables)}, "study.html.jinja")


def _metric(study: str, tables: StudyTables, metric: str, place: int) -> dict[str, Any]:
    """Return the section of a metric."""
    paper = paper_table(study, tables, metric)
    columns = {world: tables.wide(metric)[world].to_dict() for world in tables.worlds}
    columns |= {AVERAGE: tables.averages(metric).to_dict(), RANK: tables.ranks[metric].ranks}
    return {
        "id": f"metric-{place}",
        "name": metric,
        "short": metric.rpartition("/")[2],
        "sentences": sentences(tables, metric),
        "head": paper.head,
        "rows": [
            {
                "chain": chain,
                "cells": [
                    {**asdict(cell), "value": columns[name].get(chain)}
                    for name, cell in zip(paper.head, cells, strict=True)
                ],
            }
            for chain, cells in paper.rows
        ],
        "notes": paper.notes,
        "how": paper.sentences,
        "tests": tables.pivot[metric].to_dict("records"),
    }


def _with_megabytes(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {**row, "megabytes": row["memory"] / MEGABYTE}


def _most_users(tables: StudyTables) -> int:
    return int(max((table["users"].max() for table in tables.pivot.values()), default=0))
