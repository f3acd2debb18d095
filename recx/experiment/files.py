"""Writing a run's tables, each under a temporary name until it is complete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recx.core.evaluation import Evaluation
from recx.core.fold_names import outside
from recx.core.system.atomic import replacing
from recx.core.types import Array

if TYPE_CHECKING:
    import pyarrow as pa

SLICE = "slice/"
"""Prefix of the columns of ``per_user.parquet`` that are not metrics."""


def write_per_user(path: Path, evaluation: Evaluation, fold: str) -> None:
    """Write one row per evaluated user: raw id, one column per metric, and one column ``slice/NAME`` per grouping.

    Args:
        path: The parquet file.
        evaluation: The figures.
        fold: The fold that they are of, which their names say (see ``recx.core.fold_names``).
    """
    import pyarrow.parquet as pq

    named = replace(evaluation, values=outside(evaluation.values, fold))
    with replacing(path) as temporary:
        pq.write_table(per_user_of(named), temporary, compression="snappy")


def per_user_of(evaluation: Evaluation) -> pa.Table:
    """Return one row per evaluated user: raw id, one column per metric, and one column ``slice/NAME`` per grouping."""
    import pyarrow as pa

    slices = {f"{SLICE}{name}": value for name, value in evaluation.slices.items()}
    return pa.table({"user": arrow_ids(evaluation.users), **evaluation.values, **slices})


def write_table(path: Path, columns: Mapping[str, Array]) -> None:
    """Write the columns [n] of a small table as CSV."""
    import pandas as pd

    with replacing(path) as temporary:
        pd.DataFrame(dict(columns)).to_csv(temporary, index=False)


def arrow_ids(ids: Array) -> pa.Array:
    """Return raw ids as an Arrow array of integers or strings."""
    import pyarrow as pa

    return pa.array(ids) if ids.dtype.kind in "iu" else pa.array(ids.tolist(), pa.string())
