"""How runs stand by one metric: each against a baseline and against the best of them, tested user by user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recx.core.evaluation import Evaluation
from recx.evaluation.compare import compare
from recx.evaluation.warnings import SIGNIFICANT

if TYPE_CHECKING:
    import pandas as pd

OF_COMPARE = {
    "users": "users",
    "difference": "difference",
    "low": "difference_low",
    "high": "difference_high",
    "p": "p_sign_flip",
    "p_holm": "p_holm",
}
"""Column of a standing -> that of a comparison with the baseline."""
COLUMNS = (*OF_COMPARE, "p_best")
"""The columns of ``standings``."""
DRAWS, DRAWS_PER_RUN = 10_000, 200
"""Draws of the randomisation test: 1 / DRAWS_PER_RUN is the least p that Holm's method can make of one draw."""


def standings(runs: Sequence[Evaluation], metric: str, *, baseline: str | None, best: str | None) -> pd.DataFrame:
    """Test every run against the baseline, and against the best.

    The tests are those of ``compare``, adjusted by Holm's method over the other runs, once for the baseline and once
    for the best. The best is chosen by the very values that it is tested with. Still, a run that is truly the best is
    called worse in at most 5 of 100 cases: that any of n others beats it by chance is what the adjustment is made for.

    Args:
        runs: Runs of the same users, with distinct names.
        metric: The metric, of which larger is better.
        baseline: The name of the run that the others are held against; None: none.
        best: The name of the best run; None: there is none.

    Returns:
        One row per run, by its name: ``users`` (pairs with the baseline), ``difference`` from the baseline with its
        95 % interval ``low`` to ``high``, ``p`` and ``p_holm`` (paired randomisation test, two-sided), ``p_best``: the
        adjusted p against the best. NaN for a run against itself, and where nothing is tested.

    Raises:
        InputError: The runs are of different users or data, or have no value per user of the metric.
    """
    import pandas as pd

    table = pd.DataFrame(index=pd.Index([run.name for run in runs]), columns=list(COLUMNS), dtype="float64")
    for name in dict.fromkeys([baseline, best]):
        first = next((run for run in runs if run.name == name), None)
        others = [run for run in runs if run.name != name]
        if first is None or not others:
            continue
        draws = max(DRAWS, DRAWS_PER_RUN * len(others))
        found = compare(first, *others, metrics=[metric], draws=draws).table.set_index("run")
        if name == baseline:
            for column, source in OF_COMPARE.items():
                table.loc[found.index, column] = found[source].astype("float64")
        if name == best:
            table.loc[found.index, "p_best"] = found["p_holm"]
    return table


def told_apart(p: float) -> bool:
    """Return whether an adjusted p says that two runs differ; one that does not exist says nothing."""
    return p < SIGNIFICANT
