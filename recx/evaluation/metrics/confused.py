"""Which items are put first instead of the right ones, and how alike their texts are."""

from __future__ import annotations

import numpy as np

from recx.core.entities import Entities
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import first_rows
from recx.core.types import Array, Doubles, Ints


def confused_items(judged: JudgedLists, *, most: int = 200) -> dict[str, Array]:
    """Return the pairs of a right item and one that is put first instead, the most frequent first.

    Of a user with several right items, each is half of a pair. A user without a list has nothing first.

    Args:
        judged: The judged lists.
        most: The largest number of pairs.

    Returns:
        right and first, raw ids; times, how many users have the pair; of, how many users have this right item; share,
        times / of; similarity, the cosine of the TF-IDF vectors of both texts (3 and 4 characters within words), NaN
        where one has none.
    """
    rows, _ = first_rows(judged.lists.indptr, 1)
    first = np.full(judged.n_users, -1, dtype=np.int64)
    first[judged.lists.lengths > 0] = judged.lists.item[rows]
    relevant = judged.ideal >= judged.rel_threshold
    user = np.repeat(np.arange(judged.n_users), np.diff(judged.ideal_indptr))[relevant]
    right, n_items = judged.ideal_item[relevant].astype(np.int64), len(judged.items)
    wrong = (first >= 0) & (judged.shown(1) == 0)
    pair, times = np.unique((right * n_items + first[user])[wrong[user]], return_counts=True)
    order = np.argsort(-times, kind="stable")[:most]
    times, (right_one, first_one) = times[order], np.divmod(pair[order], n_items)
    of = np.bincount(right, minlength=n_items)[right_one]
    return {
        "right": judged.items.ids[right_one],
        "first": judged.items.ids[first_one],
        "times": times,
        "of": of,
        "share": times / np.maximum(of, 1),
        "similarity": _similarity(judged.items, right_one, first_one),
    }


def _similarity(items: Entities, left: Ints, right: Ints) -> Doubles:
    """Return the cosine of the texts of pairs of items [n]."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [str(text) for text in items.table.get("text", np.full(len(items), ""))]
    said = np.array([any(map(str.isalnum, text)) for text in texts], dtype=bool)
    similarity = np.full(len(left), np.nan)
    both = said[left] & said[right]
    if both.any():
        vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4)).fit_transform(texts)
        similarity[both] = np.asarray(vectors[left[both]].multiply(vectors[right[both]]).sum(axis=1)).ravel()
    return similarity
