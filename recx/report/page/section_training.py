"""What was learned: weights, how features differ between targets and other candidates, training, curves and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from recx.core.protocols import Featured
from recx.core.types import Array, Bools, Floats
from recx.experiment.experiment import Result
from recx.parts.shared.design_matrix import design_matrix, names_of
from recx.report.page.report_data import ReportData

MOST_FEATURES, BINS, MOST_ROWS = 8, 24, 200
CURVES = ("roc_curve", "cascade", "risk_coverage")
"""Tables that are drawn as lines."""
CONFUSED = "confused_items"
ELSEWHERE = ("weights", CONFUSED)
"""Tables that are shown on their own."""
TAIL = 0.005
"""Share of the rows beyond either end of a histogram, which is added to its outer bins."""
SAMPLE, SAMPLED_ROWS = 200, 30_000
"""Most users, and approximately most rows, whose features make the histograms."""
SEED = 0


def learned(result: Result, data: ReportData | None, lost: Mapping[str, Array]) -> dict[str, Any]:
    """Return weights and importances (the strongest first), feature histograms, training curves and tables."""
    weights = _rows(result.tables.get("weights", {}))
    importances = sorted(result.importances.items(), key=lambda named: -named[1])
    found = {
        "weights": sorted(weights, key=lambda row: -abs(row["weight"])),
        "collinear": [list(group) for group in result.collinear],
        "permuted": _rows(lost),
        "importances": [{"feature": name, "share": share} for name, share in importances],
        "training": {name: [float(value) for value in values] for name, values in result.curves.items()},
        "tables": {name: table_of(name, table) for name, table in result.tables.items() if name not in ELSEWHERE},
        **({} if data is None else _features(data)),
    }
    return {name: value for name, value in found.items() if value}


def confused(result: Result) -> dict[str, Any]:
    """Return which items are put first instead of the right ones, if the evaluator says it and there are some."""
    found = table_of(CONFUSED, result.tables.get(CONFUSED, {}))
    return found if found["rows"] else {}


def table_of(name: str, table: Mapping[str, Array]) -> dict[str, Any]:
    """Return the number of rows and the first of them; for a curve, evenly spaced ones."""
    n = max(map(len, table.values()), default=0)
    places = np.linspace(0, n - 1, MOST_ROWS).round().astype(np.int64) if name in CURVES else np.arange(MOST_ROWS)
    shown = table if n <= MOST_ROWS else {name: np.asarray(column)[places] for name, column in table.items()}
    return {"of": n, "rows": _rows(shown)}


def _rows(table: Mapping[str, Array]) -> list[dict[str, Any]]:
    columns = [np.asarray(column).tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def _features(data: ReportData) -> dict[str, Any]:
    """Return how the features of targets differ from those of other candidates, for a sample of users."""
    result, fold = data.result, data.result.split.fold
    ranker = result.experiment.ranker
    if not isinstance(ranker, Featured) or not ranker.features:
        return {}
    rows_of_user = float(result.candidates.lengths[data.list_of_user].mean())
    n = min(SAMPLE, data.n_users, max(int(SAMPLED_ROWS / max(rows_of_user, 1.0)), 1))
    users = np.sort(np.random.default_rng(SEED).choice(data.n_users, n, replace=False))
    places = data.list_of_user[users]
    candidates = result.candidates.take(places)
    matrix = design_matrix(ranker.features, candidates, fold.history, fold.requests[places])
    is_target = data.truth.of_users(users).match(candidates).gain >= data.truth.rel_threshold
    weight = result.weights or result.importances
    found = distributions(dict(zip(names_of(ranker.features, candidates), matrix.T, strict=True)), is_target, weight)
    return {"features": found, "features_of": n} if found else {}


def distributions(columns: Mapping[str, Floats], is_target: Bools, weight: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return histograms of the features with the largest weights.

    Args:
        columns: Values of the features for a sample of candidates [n_rows each].
        is_target: Whether a candidate is a target [n_rows].
        weight: Weights of the features.

    Returns:
        Name, edges, and the shares of the targets and of the other candidates in each bin.
    """
    if not is_target.any() or is_target.all():
        return []
    found = []
    for name in sorted(columns, key=lambda name: -abs(weight.get(name, 0.0)))[:MOST_FEATURES]:
        column = columns[name].astype(np.float64)
        low, high = np.quantile(column, [TAIL, 1 - TAIL])
        if low == high:
            low, high = column.min(), column.max()
        if low == high:
            continue  # a constant feature
        place = np.clip((column - low) * (BINS / (high - low)), 0, BINS - 1).astype(np.int64)
        shares = {
            label: (np.bincount(place[rows], minlength=BINS) / rows.sum()).tolist()
            for label, rows in (("targets", is_target), ("other candidates", ~is_target))
        }
        found.append({"feature": name, "edges": np.linspace(low, high, BINS + 1).tolist(), "shares": shares})
    return found
