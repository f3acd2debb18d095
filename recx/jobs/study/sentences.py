"""What a study says, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from recx.core.metric_names import lower_is_better
from recx.evaluation.average_ranks import LEVEL, AverageRanks
from recx.evaluation.standings import told_apart
from recx.jobs.study.tables import StudyTables
from recx.report.terminal.formats import figure, p_value

MANY = {1: "the other", 2: "both others"}
"""Number of other chains -> all of them in words."""


def sentences(tables: StudyTables, metric: str) -> list[str]:
    """Return what a study says of a metric: the best of each world, what is told apart, and how chains rank."""
    return [*_of_worlds(tables, metric), *_of_baseline(tables, metric), *_of_ranks(tables.ranks[metric])]


def _of_worlds(tables: StudyTables, metric: str) -> Iterator[str]:
    """Yield the best chain of each world, and which others are not told apart from it."""
    table = tables.pivot[metric]
    for world in tables.worlds:
        rows = table[(table["world"] == world) & table["mean"].notna()]
        if rows.empty:
            yield f"{world}: no chain has a figure"
            continue
        best = rows[rows["place"] == 1].iloc[0]
        alike = [
            str(row.chain) for row in rows.itertuples() if row.p_best == row.p_best and not told_apart(row.p_holm_best)
        ]
        tested = int(rows["p_best"].notna().sum())
        if not tested:
            apart = ""
        elif not alike:
            apart = f", told apart from {MANY.get(tested, f'all {tested} others')}"
        else:
            apart = f", not told apart from {', '.join(alike)}"
        yield f"{world}: best is {best['chain']}, {figure(float(best['mean']))}{apart}"


def _of_baseline(tables: StudyTables, metric: str) -> Iterator[str]:
    """Yield in how many worlds each chain is told apart from the baseline."""
    table = tables.pivot[metric]
    tested = table[table["p"].notna()]
    if tested.empty:
        return
    parts = []
    sign = -1 if lower_is_better(metric) else 1
    for chain in tables.chains:
        rows = tested[tested["chain"] == chain]
        if rows.empty:
            continue
        apart = rows[rows["p_holm"].map(told_apart)]
        counts = {
            "better": int((sign * apart["difference"] > 0).sum()),
            "worse": int((sign * apart["difference"] < 0).sum()),
        }
        said = " and ".join(f"{word} in {count}" for word, count in counts.items() if count)
        parts.append(f"{chain} {said or 'in none'} of {len(rows)}")
    yield f"told apart from the baseline {tables.baseline}, worlds: {'; '.join(parts)}"


def _of_ranks(ranks: AverageRanks) -> Iterator[str]:
    """Yield the average ranks, Friedman's test, and what Nemenyi's does not tell apart."""
    for name, why in ranks.left_out.items():
        yield f"{name} is left out of the average ranks: {why}"
    if not ranks.ranks or len(ranks.worlds) < 2:
        yield f"average ranks are not tested: {ranks.untested}"
        return
    listed = ", ".join(f"{chain} {rank:.2f}" for chain, rank in ranks.ranks.items())
    yield f"average ranks over {len(ranks.worlds)} worlds: {listed}"
    if ranks.untested:
        yield f"average ranks are not tested: {ranks.untested}"
        return
    verdict = "chains differ" if ranks.p < LEVEL else "no difference between chains is told"
    yield (
        f"Friedman's test over {len(ranks.worlds)} worlds: chi-squared {ranks.friedman:.2f}, p {p_value(ranks.p)} over "
        f"assignments of the ranks ({p_value(ranks.p_friedman)} by its distribution): {verdict}"
    )
    groups = "; ".join(", ".join(group) for group in ranks.groups)
    yield (
        f"Nemenyi's critical difference is {ranks.critical_difference:.2f}: "
        f"{f'not told apart: {groups}' if groups else 'all chains are told apart'}"
    )
