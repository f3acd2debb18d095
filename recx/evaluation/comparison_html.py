"""How a notebook shows a comparison: first what to read before the numbers, then a row per difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from recx.core.html_table import number, sentences, table, title
from recx.evaluation.warnings import ALL

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 60
"""Rows that are shown at most."""
PAIR = {"baseline": "against"}
"""What the columns of a pair are called."""


def html_of(
    heading: str,
    warnings: Sequence[str],
    differences: pd.DataFrame,
    level: float,
    pairs: pd.DataFrame | None = None,
    said: Sequence[str] = (),
) -> str:
    """Return warnings, a table of means, differences, intervals and p-values, one of all pairs, and sentences.

    Args:
        heading: What is compared with what.
        warnings: Sentences to read first.
        differences: The table of a comparison, whether its runs are tested or not.
        level: The level of its intervals.
        pairs: The differences of all pairs; None: there are none.
        said: Sentences at the end.
    """
    shown = title(heading) + sentences(warnings) + _table(differences, level, ".table", means=True)
    if pairs is not None:
        shown += title("All pairs") + _table(pairs, level, ".pairs", means=False)
    return str(shown + sentences(said))


def _table(differences: pd.DataFrame, level: float, name: str, *, means: bool) -> Markup:
    """Return the first rows of a table of differences, with or without the means of both runs."""
    tested = "difference" in differences
    equivalent = "p_equivalent_holm" in differences
    sliced = tested and bool((differences["slice"] != ALL).any())
    names = ["metric", "run", *([] if means else ["baseline"]), *(["slice"] if sliced else [])]
    figures = [*(["baseline", "mean"] if means else []), "difference"] if tested else ["mean"]
    p = [*(["p (Holm)"] if tested else []), *(["p equivalent (Holm)"] if equivalent else [])]
    head = [*(PAIR.get(one, one) for one in names), "users", *figures, f"{100 * level:.4g} % interval", *p]
    rows = differences.head(LONGEST).to_dict("records")
    cells = [
        [*(str(row[name]) for name in names), f"{row['users']:,}", *(_tested(row, means) if tested else _apart(row))]
        for row in rows
    ]
    more = len(differences) - len(rows)
    return table(head, cells, len(names)) + sentences([f"{more:,} more rows in {name}"] if more else [])


def _tested(row: Mapping[str, Any], means: bool) -> list[str]:
    both = [number(row[name]) for name in ("mean_baseline", "mean_run")] if means else []
    p = [number(row[name]) for name in ("p_holm", "p_equivalent_holm") if name in row]
    return [*both, number(row["difference"], "+"), _interval(row, "difference", "+"), *p]


def _apart(row: Mapping[str, Any]) -> list[str]:
    return [number(row["mean"]), _interval(row, "mean")]


def _interval(row: Mapping[str, Any], name: str, sign: str = "") -> str:
    return f"{number(row[f'{name}_low'], sign)} to {number(row[f'{name}_high'], sign)}"
