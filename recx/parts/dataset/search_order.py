"""The order in which a first search found the candidates of a list: their scores, or their ranks from 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recx.core.errors import InputError
from recx.core.precision import Reals
from recx.core.types import Array
from recx.storage.readers.names import recognised

SCORES = ("score", "search_score", "retrieval_score", "similarity_score", "similarity")
RANKS = ("rank", "position")
HIGHEST_BEST = "score|similarity|bm25|cosine|logits?|prob|probability"
LOWEST_BEST = "rank|position|distance|dist"
"""Last words of other names that say whether the highest or the lowest number is the best."""
_WORDS = {"score": HIGHEST_BEST, "rank": LOWEST_BEST}
LARGEST = float(np.finfo(np.float32).max)


def worth_of(group: Array, score: Reals | None, rank: Reals | None, where: str) -> Reals | None:
    """Return how good each row is to the search [n], the higher the better; None: it does not say.

    These are the scores, or minus the ranks. With both, they must agree, and the ranks decide between equal scores.

    Args:
        group: The list of each row, numbers [n].
        score: The scores [n]; None: there are none.
        rank: The ranks [n]; None: there are none.
        where: The file, for the error.

    Raises:
        InputError: Scores and ranks contradict each other.
    """
    if score is None or rank is None:
        return score if rank is None else -rank
    order = np.lexsort((-score, rank, group))
    group, score_there, rank_there = group[order], score[order], rank[order]
    inside = group[1:] == group[:-1]
    rising = inside & (score_there[1:] > score_there[:-1])
    if rising.any():
        at = int(np.argmax(rising))
        pair = " and ".join(f"rank {rank_there[row]:g} with score {score_there[row]:g}" for row in (at, at + 1))
        raise InputError(
            f"{where}: ranks and scores contradict each other: one list has {pair}: leave out the ranks if the highest "
            "score is best, or else the scores"
        )
    ranked, scored = rank_there[1:] != rank_there[:-1], score_there[1:] != score_there[:-1]
    if not (inside & ranked & ~scored).any():
        return score
    place = np.cumsum(np.concatenate([[0], ~inside | ranked | scored]))
    worth = np.empty(len(order))
    worth[order] = place[np.searchsorted(group, group)] - place - 1
    return worth


def unusual_names(names: Sequence[str], where: str) -> dict[str, str]:
    """Return score or rank -> the column, none of which has a usual name, that says how good a candidate is.

    Raises:
        InputError: There are several.
    """
    found = [(role, name) for role, words in _WORDS.items() for name in recognised(words, names)]
    if len(found) > 1:
        columns = " or ".join(repr(name) for _, name in found)
        raise InputError(
            f"{where}: the order of the search could be in the column {columns}: call the one that counts score if the "
            "highest is best, or rank if the lowest is"
        )
    return dict(found)


def best_first(records: Sequence[Mapping[str, Any]], where: str) -> tuple[list[int], Reals | None]:
    """Return the positions of the candidates, best first, and how good each of these is; None: the file does not say.

    Args:
        records: The candidates of one list, which may have a score and a rank.
        where: The list, for errors.

    Raises:
        InputError: Some of them have a score or a rank and others not, one is no number, or they contradict each other.
    """
    known = list(dict.fromkeys(name for record in records for name in record))
    usual = [name for name in known if name in (*SCORES, *RANKS)]
    other = {} if usual else unusual_names(known, where)
    called = {"score": (*SCORES, other.get("score", "")), "rank": (*RANKS, other.get("rank", ""))}
    score, rank = (_column(records, names, where) for names in called.values())
    worth = worth_of(np.zeros(len(records), dtype=np.int64), score, rank, where)
    if worth is None:
        return list(range(len(records))), None
    order = np.argsort(-worth, kind="stable")
    return order.tolist(), worth[order]


def _column(records: Sequence[Mapping[str, Any]], names: Sequence[str], where: str) -> Reals | None:
    name = next((name for name in names if any(record.get(name) is not None for record in records)), None)
    if name is None:
        return None
    values = [record.get(name) for record in records]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
            raise InputError(f"{where}: the {name} of a candidate is {value!r}: give all of them a number, or none")
        if int(value) != int(float(value)):
            raise InputError(f"{where}: the {name} {value} is beyond 2^53, where neighbours become equal: give ranks")
    return np.array(values, dtype=np.float64)
