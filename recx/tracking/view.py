"""The columns that MLflow's table of runs shows at first sight: a view that is shared by the experiment.

MLflow shows neither params nor metrics there until a person chooses them, and keeps a shared view as a tag of the
experiment, by whose key the address of the page opens it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from recx.core.fold_names import outside_name

KEY = "recx"
TAG = f"mlflow.sharedViewState.{KEY}"
FIRST = ("split", "retriever", "ranker")
FIGURES = ("retrieval/recall_at_50",)
"""Figures beside the one that runs are compared by; more would push the params out of sight."""
NOT_SHOWN = ("dataset", "dataset.path", "experiment", "objective")
"""Params that other columns show, or that are the same in all runs."""
MOST = 12
"""Params in columns."""


def updated(state: str, params: Mapping[str, str], usual: Sequence[str], objective: str, fold: str) -> str:
    """Return the state of the view with columns for a run that is about to start.

    Args:
        state: The state so far; "" where there is none. One that somebody has changed beyond recognition is replaced.
        params: What the run is compared by.
        usual: Params that every run has; of these, only a few are shown.
        objective: The metric that runs are compared by.
        fold: The fold of the run.
    """
    try:
        kept = [str(column) for column in json.loads(state)["selectedColumns"]] if state else []
    except (ValueError, TypeError, KeyError, RecursionError):
        kept = []
    columns = dict.fromkeys([*kept, *_columns(params, usual, objective, fold)])
    of_params = [column for column in columns if column.startswith("params.")][:MOST]
    others = [column for column in columns if not column.startswith("params.")]
    shown = [*others[:1], *of_params, *others[1:]]  # the dataset, what was chosen, the figures
    return json.dumps(
        {
            "searchFilter": "",
            "orderByKey": "attributes.start_time",
            "orderByAsc": False,
            "startTime": "ALL",
            "lifecycleFilter": "Active",
            "datasetsFilter": [],
            "modelVersionFilter": "All Runs",
            "selectedColumns": shown,
            "runsExpanded": {},
            "runsPinned": [],
            "runsHidden": [],
        }
    )


def _columns(params: Mapping[str, str], usual: Sequence[str], objective: str, fold: str) -> Iterator[str]:
    yield "attributes.`Dataset`"
    yield from (f"params.`{name}`" for name in FIRST)
    yield from (f"params.`{name}`" for name in params if name not in (*FIRST, *NOT_SHOWN, *usual))
    figures = [objective] if objective else []
    figures += [name for name in FIGURES if fold != "valid" and name != objective]
    yield from (f"metrics.`{outside_name(name, fold)}`" for name in figures)
