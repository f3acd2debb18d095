"""Figures beyond accuracy: how the lists cover the catalogue, and how novel and how diverse the items shown are.

A figure is a function of the judged lists and a cut ``k`` (None: whole lists). The figures of exposure (coverage, gini,
entropy) and the counts are one number for all users; the others are one value per user, float64 [n_users], 0 where a
user's list is empty. The mean over a list divides by the number of items shown within k, min(k, its length). "The
history" is the events of all users in ``judged.history``.

Lists are processed in blocks, so that no array of rows × something is ever whole in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.memo import once_per_input
from recx.core.ragged import blocks_of_groups, distinct, group_of_rows, indptr_of, position_of_rows, sum_of_groups
from recx.core.total import Total
from recx.core.types import Array, Doubles, Interactions, Ints, Longs, Notes
from recx.evaluation.metrics.ranking import Figure, hit

ROWS_AT_ONCE = 50_000  # keeps a block in the processor's cache


def coverage(judged: JudgedLists, k: int | None) -> Total[float]:
    """Distinct items shown / items of the catalogue (Ge, Delgado-Battenfeld, Jannach, RecSys 2010)."""
    return Total(exposure(judged, k), lambda times: np.count_nonzero(times) / max(len(times), 1))


def gini(judged: JudgedLists, k: int | None) -> Total[float]:
    """Gini index of how often each item is shown: sum over i of (2i - n - 1) x_i / (n · sum of x).

    x_1 <= ... <= x_n are the times that each of the n items of the whole catalogue is shown, including 0. The index is
    twice the area between the Lorenz curve and equality (Fleder, Hosanagar, Management Science 2009): 0 if all items
    are shown equally often or nothing is shown, 1 - 1/n if only one item is. (Shani, Gunawardana 2011 divide by n - 1
    instead of n.)
    """
    return Total(exposure(judged, k), _gini)


def _gini(shown: Longs) -> float:
    times = np.sort(shown)
    n = len(times)
    return float((2 * np.arange(1, n + 1) - n - 1) @ times) / max(n * int(times.sum()), 1)


def entropy(judged: JudgedLists, k: int | None) -> Total[float]:
    """Shannon entropy in bits of the shares of exposure: sum over items of p · log2(1/p), p = times shown / all rows.

    Shani, Gunawardana: Evaluating recommendation systems, 2011. (RecBole uses the natural logarithm and divides by
    the number of distinct items shown.)
    """
    return Total(exposure(judged, k), _entropy)


def _entropy(times: Longs) -> float:
    p = times[times > 0] / times.sum()
    return float((p * np.log2(1 / p)).sum())


def hit_num(judged: JudgedLists, k: int | None) -> Total[float]:
    """Number of users with a hit: with any target in the first k."""
    return Total(np.array([hit(judged, k).sum()]), _only)


def num_queries(judged: JudgedLists, k: int | None) -> Total[float]:
    """Number of judged users: those with a target, with or without a list."""
    return Total(np.array([np.count_nonzero(judged.n_targets)]), _only)


def _only(sums: Array) -> float:
    return float(sums[0])


def novelty(judged: JudgedLists, k: int | None) -> Doubles:
    """Mean self-information of the items shown: log2(users / users who had the item).

    Users are those with an event in the history; a user had an item if one of these events is with it. An item that
    nobody had counts as had by one user. Zhou, Kuscsik, Liu, Medo, Wakeling, Zhang: Solving the apparent
    diversity-accuracy dilemma of recommender systems, PNAS 2010.

    Raises:
        InputError: The history has no events.
    """
    history = history_for(judged, "novelty")
    return mean_of_items(
        judged, k, np.log2(np.count_nonzero(history.lengths) / np.maximum(_users_of_items(history), 1))
    )


def popularity(judged: JudgedLists, k: int | None) -> Doubles:
    """Mean number of the history's events with the items shown.

    Raises:
        InputError: The history has no events.
    """
    return mean_of_items(judged, k, history_for(judged, "popularity").clicks)


def new_items(judged: JudgedLists, k: int | None) -> Doubles:
    """Share of the items shown that have no event in the history.

    Raises:
        InputError: The history has no events.
    """
    return mean_of_items(judged, k, history_for(judged, "new_items").clicks == 0)


def serendipity(judged: JudgedLists, k: int | None) -> Doubles:
    """Targets in the first k that are not among the k most popular items of the history / k, also for short lists.

    Without a cut: / the list's length, and there are as many most popular items as the longest list shows. Among
    equally popular items those with the lower code (the earlier ones of the catalogue) come first; an item without an
    event is never popular. After Ge, Delgado-Battenfeld, Jannach: Beyond accuracy, RecSys 2010. (RecTools weighs each
    target shown by how far it is ranked above its rank by popularity.)

    Raises:
        InputError: The history has no events.
    """
    clicks = history_for(judged, "serendipity").clicks
    lengths = judged.lists.lengths
    most = np.argsort(-clicks, kind="stable")[: lengths.max(initial=0) if k is None else k]
    unexpected = np.ones(len(clicks), dtype=bool)
    unexpected[most[clicks[most] > 0]] = False
    hits = judged.relevant_hits(k)
    hits = hits[unexpected[judged.lists.item[judged.hit_row[hits]]]]
    shown = np.bincount(judged.hit_user[hits], minlength=judged.n_users)
    return shown / (np.maximum(lengths, 1) if k is None else k)


def diversity(judged: JudgedLists, k: int | None) -> Doubles:
    """Intra-list diversity: the mean over pairs of items shown of 1 - the cosine of their embeddings, from 0 to 2.

    Items without an embedding are left out of the pairs; 0 where fewer than two are left. A zero vector has the cosine
    0 with all others. The cosines of all pairs sum up to (|s|² - m) / 2 for the sum s of a list's m vectors of length
    1, so time is linear in the rows. Ziegler, McNee, Konstan, Lausen: Improving recommendation lists through topic
    diversification, WWW 2005.

    Raises:
        InputError: No item has an embedding.
    """
    from scipy import sparse

    embedding, known = judged.items.embedding, judged.items.has_embedding
    if embedding is None or not known.any():
        raise InputError(
            "diversity needs embeddings, but no item has one: give them with the items (items= in recx.evaluate), use "
            "category_diversity, or leave diversity out"
        )
    norm = np.sqrt(np.einsum("nd,nd->n", embedding, embedding, dtype=np.float64))
    long_enough = known & (norm > np.finfo(np.float32).tiny)  # below, 1 / norm does not fit into a float32
    scale = np.divide(1, norm, out=np.zeros(len(norm)), where=long_enough).astype(np.float32)
    value = np.zeros(judged.n_users)
    for lists, indptr, item in shown_items(judged, k):
        m = np.bincount(group_of_rows(indptr)[known[item]], minlength=len(indptr) - 1)
        some = np.flatnonzero(m > 1)
        item = item[known[item] & np.repeat(m > 1, np.diff(indptr))]
        inner = indptr_of(m[some])
        total = sparse.csr_array((scale[item], item, inner), shape=(len(some), len(scale))) @ embedding
        itself = sum_of_groups(scale[item] > 0, inner)
        cosines = np.einsum("nd,nd->n", total, total, dtype=np.float64) - itself
        value[lists.start + some] = np.clip(1 - cosines / (m[some] * (m[some] - 1)), 0, 2)
    return value


def category_diversity(judged: JudgedLists, k: int | None) -> Doubles:
    """Share of the pairs of items shown with different categories (``items.table["category"]``).

    Items without a category are left out of the pairs; 0 where fewer than two are left. (RePlay's CategoricalDiversity
    is a different figure: distinct categories / k.)

    Raises:
        InputError: No item has a category.
    """
    category = judged.items.table.get("category")
    if category is None or not (category >= 0).any():
        raise InputError(
            "category_diversity needs categories, but no item has one: give them with the items (items= in "
            "recx.evaluate, --items on the command line), or leave category_diversity out"
        )
    n = int(category.max()) + 1
    value = np.zeros(judged.n_users)
    for lists, indptr, item in shown_items(judged, k):
        known = category[item] >= 0
        keys, size = np.unique(group_of_rows(indptr)[known] * n + category[item[known]], return_counts=True)
        n_lists = len(indptr) - 1
        same = np.bincount(keys // n, weights=size * (size - 1), minlength=n_lists)
        m = np.bincount(keys // n, weights=size, minlength=n_lists)
        value[lists] = np.where(m > 1, 1 - same / np.maximum(m * (m - 1), 1), 0)
    return value


def without_embedding(judged: JudgedLists, k: int | None) -> Notes:
    """Count the rows shown whose item has no embedding, which diversity leaves out."""
    return {_at("diversity_without_embedding", k): int(exposure(judged, k)[~judged.items.has_embedding].sum())}


def without_category(judged: JudgedLists, k: int | None) -> Notes:
    """Count the rows shown whose item has no category, which category_diversity leaves out."""
    missing = judged.items.table["category"] < 0
    return {_at("category_diversity_without_category", k): int(exposure(judged, k)[missing].sum())}


ONE_NUMBER: tuple[Figure, ...] = (coverage, gini, entropy, hit_num, num_queries)
PER_USER: tuple[Figure, ...] = (novelty, popularity, new_items, serendipity, diversity, category_diversity)
FIGURES = {figure.__name__: figure for figure in (*ONE_NUMBER, *PER_USER)}
"""Name without ``_at_k`` -> figure."""
UNCUT = {"num_queries"}
"""Figures that take no cut."""

NOTES: dict[str, Callable[[JudgedLists, int | None], Notes]] = {
    "diversity": without_embedding,
    "category_diversity": without_category,
}
"""Name of a figure -> its counts."""


def _at(name: str, k: int | None) -> str:
    return name if k is None else f"{name}_at_{k}"


def history_for(judged: JudgedLists, figure: str) -> Interactions:
    """Return the history, which must have an event for this figure."""
    if not len(judged.history):
        raise InputError(
            f"{figure} compares the items shown with the history, but the history has no events: give it (history= in "
            f"recx.evaluate, --history on the command line), or leave {figure} out"
        )
    return judged.history


@once_per_input  # several figures use the same cut
def exposure(judged: JudgedLists, k: int | None) -> Longs:
    """Return how often each item is shown [n_items]."""
    times = np.zeros(len(judged.items), dtype=np.int64)
    for _, _, item in shown_items(judged, k):
        np.add.at(times, item, 1)
    return times


def mean_of_items(judged: JudgedLists, k: int | None, of_item: Array) -> Doubles:
    """Return each user's mean over the items shown of a value per item [n_users]."""
    of_item = of_item.astype(np.float64)
    mean = np.zeros(judged.n_users)
    for lists, indptr, item in shown_items(judged, k):
        mean[lists] = sum_of_groups(of_item[item], indptr) / np.maximum(np.diff(indptr), 1)
    return mean


@once_per_input  # every block of users asks
def _users_of_items(history: Interactions) -> Longs:
    """Return the number of distinct users with each item in the history [n_items]."""
    users = np.zeros(history.n_items, dtype=np.int64)
    for start, stop in blocks_of_groups(history.indptr, ROWS_AT_ONCE):  # all events of a user are in one block
        indptr = history.indptr[start : stop + 1]
        pairs = group_of_rows(indptr) * history.n_items + history.item[indptr[0] : indptr[-1]]
        np.add.at(users, distinct(pairs) % history.n_items, 1)
    return users


def shown_items(judged: JudgedLists, k: int | None) -> Iterator[tuple[slice, Longs, Ints]]:
    """Yield blocks of lists: the lists, their ``indptr`` cut at k, and the items shown."""
    lists = judged.lists
    cut = lists.indptr if k is None else indptr_of(np.minimum(lists.lengths, k))
    for start, stop in blocks_of_groups(cut, ROWS_AT_ONCE):
        indptr = cut[start : stop + 1] - cut[start]
        rows = np.repeat(lists.indptr[start:stop], np.diff(indptr)) + position_of_rows(indptr)
        yield slice(start, stop), indptr, lists.item[rows]
