"""The users whom the runs of a comparison share, and the values of each run for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.types import Doubles
from recx.evaluation.near_ids import near

if TYPE_CHECKING:
    import pandas as pd


def paired_users(runs: Sequence[Evaluation]) -> pd.Index[Any]:
    """Return the users that the baseline shares with any other run; sorted unless all runs have the same in order."""
    import pandas as pd

    first, *others = (pd.Index(run.users) for run in runs)
    for index, run in zip(others, runs[1:], strict=True):
        if not first.isin(index).any():
            ours, theirs = first.tolist(), index.tolist()
            one, other = next(iter(near(ours, theirs)), (next(iter(ours), None), next(iter(theirs), None)))
            raise InputError(
                f"{runs[0].name} and {run.name} have no user in common (such as {one!r} and {other!r}): compare runs "
                "with the same users, spelled alike, and read ids as text or as numbers in both"
            )
    return first.intersection(reduce(lambda one, other: one.union(other), others), sort=None)


def of_users(values: Doubles, run: Evaluation, users: pd.Index[Any]) -> Doubles:
    """Return a run's values for these users [n_users, ...], NaN for a user that it lacks."""
    import pandas as pd

    place = pd.Index(run.users).get_indexer(users)
    taken: Doubles = values[place]
    taken[place < 0] = np.nan
    return taken
