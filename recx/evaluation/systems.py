"""Lists of several systems in one table: each is evaluated against the same ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recx.core.errors import InputError, did_you_mean
from recx.core.evaluation import Evaluation
from recx.core.protocols import Metric
from recx.evaluation.evaluate import METRICS_AT_10, evaluate
from recx.evaluation.given_tables import frame_of

if TYPE_CHECKING:
    from recx.evaluation.evaluate import Given


def evaluate_systems(
    recommendations: Given,
    relevance: Given,
    metrics: Sequence[str | Metric] = METRICS_AT_10,
    *,
    by: str,
    columns: Mapping[str, str] | None = None,
    **settings: Any,
) -> dict[str, Evaluation]:
    """Evaluate the lists of several systems, which a column of their table tells apart.

    ``recx.compare(*recx.evaluate_systems(lists, truth, by="Algorithm").values())`` tests the others against the first.

    Args:
        recommendations: A table of lists (see ``recx.evaluate``) with a further column.
        relevance: The ground truth.
        metrics: Names of metrics, or metrics.
        by: The column that says which system made a list.
        columns: Role -> its column, where that has another name.
        **settings: Those of ``recx.evaluate``.

    Returns:
        System -> its evaluation, in the order of the table. A user without a list of a system scores 0 there.

    Raises:
        InputError: As ``recx.evaluate`` does; the column is missing, or a row has no system.
    """
    lists = frame_of(recommendations, "recommendations", columns, by)
    if by not in lists:
        raise InputError(f"recommendations: column {by!r} (by) is missing; {did_you_mean(by, map(str, lists.columns))}")
    if lists[by].isna().any():
        row = int(lists[by].isna().to_numpy().argmax()) + 1
        raise InputError(f"recommendations: column {by!r}, row {row}: it names no system: fill it in or drop the row")
    tables = {name: settings.pop(name) for name in ("history", "items") if settings.get(name) is not None}
    tables = {name: frame_of(table, name, columns) for name, table in tables.items()}
    truth, found = frame_of(relevance, "relevance", columns), {}
    for system, rows in lists.groupby(by, sort=False, observed=True):
        of_system = rows.drop(columns=by).reset_index(drop=True)
        of_system.attrs = lists.attrs
        try:
            found[str(system)] = evaluate(of_system, truth, metrics, name=str(system), **tables, **settings)
        except InputError as error:
            raise InputError(f"{by}={system}: {error}") from error
    return found
