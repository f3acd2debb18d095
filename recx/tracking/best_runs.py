"""The best run of an experiment, chosen by figures of ``fold=valid`` alone: to choose by test would be tuning on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recx.core.errors import InputError, did_you_mean
from recx.core.fold_names import VALID
from recx.core.run_context import OBJECTIVE
from recx.core.secrets import hidden
from recx.tracking import store
from recx.tracking.found_runs import find_run, runs_of
from recx.tracking.past_run import PastRun
from recx.tracking.sqlite_runs import FoundRun

BEST = "best:"
"""What stands before the name of an experiment whose best run is meant."""
RULES = ("recx.data", "recx.protocol", OBJECTIVE)
"""Tags with the hash of the data, that of the rules, and the figure: they must agree where runs are compared."""
SHOWN = 5


def best_run(uri: str, experiment: str) -> tuple[FoundRun, str] | None:
    """Return the best run of an experiment and a sentence on how it was chosen; None if the store has no such one.

    These are the best runs of sweeps, which keep the figures of ``fold=valid`` by which they were chosen. A run of
    ``fold=valid`` is none: its chain has not seen the last step.

    Args:
        uri: The absolute address of the store.
        experiment: The name of the MLflow experiment.

    Raises:
        InputError: None of its runs has such figures, or they are of several data sets, rules or figures.
        RecxError: The store cannot be read.
    """
    file = store.database(uri)
    if file is not None and not file.is_file():
        return None
    every = runs_of(uri)
    runs = [run for run in every if run.experiment == experiment and not _is_part(run)]
    if not runs:
        if any(run.experiment == experiment for run in every):
            raise InputError(f"{BEST}{experiment}: no run of it has ended: run a sweep with fold=valid")
        return None
    able = [run for run in runs if run.status == "finished" and math.isfinite(value_of(run))]
    if not able:
        raise InputError(
            f"{BEST}{experiment}: none of its {len(runs)} runs has figures of fold=valid beside those of test: the "
            "best run of a sweep has them (-m fold=valid), and to choose by test would be tuning on it"
        )
    _refuse_several(able, experiment)
    best = max(able, key=lambda run: (value_of(run), run.start))
    left = len(runs) - len(able)
    said = (
        f"{BEST}{experiment}: run {best.id}, {VALID}{best.tags[OBJECTIVE]} = {value_of(best):.4f}, the best of "
        f"{len(able)}"
    )
    found = find_run(uri, best.id)
    assert found is not None
    return found, f"{said}; {left} without figures of fold=valid beside those of test left out" if left else said


def experiments_near(uri: str, experiment: str) -> str:
    """Return a sentence with the experiments of a store whose names are like this one."""
    file = store.database(uri)
    names = {run.experiment for run in runs_of(uri)} if file is None or file.is_file() else set()
    return f"no experiment {experiment!r} in {hidden(uri)}; {did_you_mean(experiment, names)}"


def value_of(run: PastRun) -> float:
    """Return the figure of ``fold=valid`` by which a run of the test fold was chosen; NaN if it has none."""
    objective = run.tags.get(OBJECTIVE, "")
    return run.figures.get(f"{VALID}{objective}", math.nan) if objective in run.figures else math.nan


def _is_part(run: PastRun) -> bool:
    """Return whether a run is a sweep, or one of its trials or of a benchmark's rankers."""
    return run.tags.get("recx.role") == "sweep" or ("mlflow.parentRunId" in run.tags and not run.is_best)


def _refuse_several(runs: Sequence[PastRun], experiment: str) -> None:
    """Raise InputError if the runs are not of the same data, rules and figure; name the best of each kind."""
    kinds: dict[tuple[str, ...], list[PastRun]] = {}
    for run in sorted(runs, key=value_of, reverse=True):
        kinds.setdefault(tuple(run.tags.get(tag, "") for tag in RULES), []).append(run)
    if len(kinds) == 1:
        return
    shown = [
        f"{first.id} ({VALID}{first.tags[OBJECTIVE]} = {value_of(first):.4f})" for first, *_ in list(kinds.values())
    ]
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    raise InputError(
        f"{BEST}{experiment}: its best runs are of {len(kinds)} different data sets, rules or objectives, whose "
        f"figures do not compare: name one run, {', '.join(shown[:SHOWN])}{more}"
    )
