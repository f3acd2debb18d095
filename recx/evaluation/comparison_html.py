"""How a notebook shows a comparison: first what to read before the numbers, then a row per difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recx.core.html_table import number, sentences, table, title
from recx.evaluation.warnings import ALL

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 60
"""Rows that are shown at most."""


def html_of(heading: str, warnings: Sequence[str], differences: pd.DataFrame, level: float) -> str:
    """Return warnings and a table of means, differences, intervals and p-values.

    Args:
        heading: What is compared with what.
        warnings: Sentences to read first.
        differences: The table of a comparison, whether its runs are tested or not.
        level: The level of its intervals.
    """
    tested = "difference" in differences
    sliced = tested and bool((differences["slice"] != ALL).any())
    names = ["metric", "run", *(["slice"] if sliced else [])]
    figures = ["baseline", "mean", "difference"] if tested else ["mean"]
    head = [*names, "users", *figures, f"{100 * level:.4g} % interval", *(["p (Holm)"] if tested else [])]
    rows = differences.head(LONGEST).to_dict("records")
    cells = [
        [*(str(row[name]) for name in names), f"{row['users']:,}", *(_tested(row) if tested else _apart(row))]
        for row in rows
    ]
    more = len(differences) - len(rows)
    left_out = [f"{more:,} more rows in .table"] if more else []
    return str(title(heading) + sentences(warnings) + table(head, cells, len(names)) + sentences(left_out))


def _tested(row: Mapping[str, Any]) -> list[str]:
    means = [number(row[name]) for name in ("mean_baseline", "mean_run")]
    return [*means, number(row["difference"], "+"), _interval(row, "difference", "+"), number(row["p_holm"])]


def _apart(row: Mapping[str, Any]) -> list[str]:
    return [number(row["mean"]), _interval(row, "mean")]


def _interval(row: Mapping[str, Any], name: str, sign: str = "") -> str:
    return f"{number(row[f'{name}_low'], sign)} to {number(row[f'{name}_high'], sign)}"
