"""A seeded small collection of judged documents, modelled on LETOR's MQ2008."""

from __future__ import annotations

import numpy as np

from recx.core.ragged import group_of_rows, indptr_of, max_of_groups
from recx.core.types import Doubles, Longs
from recx.parts.dataset.svmlight_lines import Rows

DOCUMENTS = (5, 40)  # fewest and most documents of a query
NOISE = 1.2  # standard deviation of the judges' noise; that of the true relevance is 1
LIMITS = (1.2, 2.2)  # relevance from which the grade is 1, and 2


def make_queries(queries: int, features: int, seed: int) -> Rows:
    """Return the judged rows of this many queries; the same arguments give the same rows.

    A document's relevance is a weighted sum of its features, whose weights fall like 1/rank, plus the judges' noise.
    Features are scaled to [0, 1] within their query, as LETOR's are; grades are 0, 1 and 2.
    """
    rng = np.random.default_rng(seed)
    indptr = indptr_of(rng.integers(DOCUMENTS[0], DOCUMENTS[1] + 1, queries))
    n, query = int(indptr[-1]), group_of_rows(indptr)
    weight = rng.permutation(rng.choice([-1.0, 1.0], features) / np.arange(1, features + 1))
    drawn = rng.normal(size=(n, features))
    true = drawn @ weight / np.linalg.norm(weight) + NOISE * rng.normal(size=n)
    grade = np.searchsorted(LIMITS, true).astype(np.float64)
    for column in drawn.T:
        column[:] = np.round(scaled(column, indptr), 6)
    return Rows(
        grade=grade,
        query=query + 1,
        line=np.arange(1, n + 1),
        row=np.repeat(np.arange(n), features),
        index=np.tile(np.arange(1, features + 1), n),
        value=drawn.ravel(),
    )


def scaled(values: Doubles, indptr: Longs) -> Doubles:
    """Return values [n] scaled to [0, 1] within their groups."""
    group = group_of_rows(indptr)
    low, high = -max_of_groups(-values, indptr)[group], max_of_groups(values, indptr)[group]
    return np.asarray((values - low) / (high - low))
