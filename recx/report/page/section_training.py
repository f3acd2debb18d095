"""What was learnt: weights, how features differ between targets and other candidates, training, curves and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.types import Array, Bools, Floats
from recx.experiment.experiment import Result

MOST_FEATURES, BINS, MOST_ROWS = 8, 24, 200
CURVES = ("roc_curve", "cascade")
"""Tables that are drawn as lines."""
TAIL = 0.005
"""The share of rows beyond either end of a histogram, which its last bin takes in."""


def learnt(result: Result) -> dict[str, Any]:
    """Return weights and importances (feature, value ...; the strongest first), curves by epoch, curves and tables."""
    tables = {name: _told(name, table) for name, table in result.tables.items() if name != "weights"}
    weights = _rows(result.tables.get("weights", {}))
    told = {
        "weights": sorted(weights, key=lambda row: -abs(row["weight"])),
        "importances": [
            {"feature": name, "share": share}
            for name, share in sorted(result.importances.items(), key=lambda named: -named[1])
        ],
        "training": {name: [float(value) for value in values] for name, values in result.curves.items()},
        "tables": tables,
    }
    return {name: what for name, what in told.items() if what}


def _told(name: str, table: Mapping[str, Array]) -> dict[str, Any]:
    """Return the number of rows and the first of them; of a curve some that lie equally far from each other."""
    n = max(map(len, table.values()), default=0)
    places = np.linspace(0, n - 1, MOST_ROWS).round().astype(np.int64) if name in CURVES else np.arange(MOST_ROWS)
    shown = table if n <= MOST_ROWS else {name: np.asarray(column)[places] for name, column in table.items()}
    return {"of": n, "rows": _rows(shown)}


def _rows(table: Mapping[str, Array]) -> list[dict[str, Any]]:
    columns = {name: np.asarray(column).tolist() for name, column in table.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def distributions(
    names: Sequence[str], matrix: Floats, target: Bools, weight: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Return histograms of the features that count most: edges, and shares of the targets and of the others per bin.

    matrix: [n_rows, n_names] of a sample of candidates. target: which rows are targets [n_rows].
    """
    if not target.any() or target.all():
        return []
    order = sorted(range(len(names)), key=lambda at: -abs(weight.get(names[at], 0.0)))
    found = []
    for at in order[:MOST_FEATURES]:
        column = matrix[:, at].astype(np.float64)
        low, high = np.quantile(column, [TAIL, 1 - TAIL])
        if low == high:
            low, high = column.min(), column.max()
        if low == high:
            continue  # one value tells nothing apart
        place = np.clip((column - low) * (BINS / (high - low)), 0, BINS - 1).astype(np.int64)
        shares = {
            name: (np.bincount(place[rows], minlength=BINS) / rows.sum()).tolist()
            for name, rows in (("targets", target), ("other candidates", ~target))
        }
        found.append({"feature": names[at], "edges": np.linspace(low, high, BINS + 1).tolist(), "shares": shares})
    return found
