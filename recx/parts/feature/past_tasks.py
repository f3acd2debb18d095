"""What the tool answered before: features of the past tasks that it was right for, from the history only.

A task's words may say little of the tool's description and much of what others asked it for. All are 0 where the data
has times: they take the history whole, and there some of it may be later than the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.bounds import PositiveFloat, PositiveInt, checked
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder
from recx.core.ragged import blocks
from recx.core.types import Floats, Interactions, RankedLists, Requests
from recx.parts.shared.texts import (
    answered,
    asked,
    known_users,
    nearest_texts,
    past_tasks,
    products_of_lists,
    texts_of,
    word_counter,
)
from recx.parts.shared.top_k import CELLS


@dataclass(frozen=True)
class PastTasks:
    """Cosine of the task with the mean of the past tasks that the tool answered; 0 where it answered none.

    encoder: turns a text into a vector.
    """

    encoder: Encoder

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        if history.time is not None:
            return np.zeros(len(candidates), dtype=np.float32)
        return products_of_lists(candidates, asked(requests, history, self.encoder), past_tasks(history, self.encoder))


@dataclass(frozen=True)
@checked("feature")
class NearestTasks:
    """Share of the nearest past tasks that the tool answered, each weighted by its cosine; 0 where none is near.

    encoder: turns a text into a vector. k: how many past tasks are near.
    """

    encoder: Encoder
    k: PositiveInt = 20

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        if history.time is not None:
            return np.zeros(len(candidates), dtype=np.float32)
        tasks = asked(requests, history, self.encoder)
        past = known_users(history, self.encoder)[np.cumsum(history.lengths > 0)[history.user] - 1]
        of_tool = sparse.csr_array(
            (np.ones(len(history), dtype=np.float32), (np.arange(len(history)), history.item)),
            shape=(len(history), history.n_items),
        )
        share = np.zeros(len(candidates), dtype=np.float32)
        for start, stop in blocks(candidates.n_lists, max(1, CELLS // max(1, len(history), history.n_items))):
            rows = slice(int(candidates.indptr[start]), int(candidates.indptr[stop]))
            votes = (nearest_texts(tasks[start:stop], past, self.k) @ of_tool).toarray()
            share[rows] = votes[candidates.list_of_row[rows] - start, candidates.item[rows]]
        return share


@dataclass(frozen=True)
@checked("feature")
class PastWords:
    """How much likelier the task's words are in the past tasks of the tool than in all past tasks.

    The mean over the task's words of log(P(word | tool) / P(word)), as naive Bayes adds them up (Maron 1961); each text
    counts a word once, and P(word | tool) is smoothed by ``strength`` words drawn from all past tasks. 0 for a task
    without a known word.
    """

    strength: PositiveFloat = 20.0

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        if history.time is not None or not len(history):
            return np.zeros(len(candidates), dtype=np.float32)
        known = _words(history, self.strength)
        if known.counter is None:
            return np.zeros(len(candidates), dtype=np.float32)
        tasks = sparse.csr_array(known.counter.transform(texts_of(history.users, "users", candidates.user)))
        gain = products_of_lists(candidates, tasks, known.gain)
        said = np.asarray(tasks.sum(axis=1)).ravel()[candidates.list_of_row]
        return np.where(said > 0, gain / np.maximum(1, said) + known.loss[candidates.item], 0).astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Words:
    """log(P(word | tool) / P(word)) = gain + loss: what a word adds where the tool's past tasks have it, and the rest.

    counter: tells which words a task has, 1 or 0; None where no past task has any. gain: [n_items, n_words].
    loss: [n_items].
    """

    counter: Any | None
    gain: Any
    loss: Floats


@once_per_input
def _words(history: Interactions, strength: float) -> _Words:
    texts = texts_of(history.users, "users", history.lengths > 0)
    counter = word_counter(texts, binary=True)
    none = np.zeros((len(texts), 1), dtype=np.float32)
    tasks = sparse.csr_array(none if counter is None else counter.transform(texts))
    counts = sparse.csr_array(answered(history)[:, np.flatnonzero(history.lengths)] @ tasks)
    by_word, by_tool = np.asarray(counts.sum(axis=0)).ravel(), np.asarray(counts.sum(axis=1)).ravel()
    expected = strength * by_word / max(1.0, float(by_word.sum()))
    counts.data = np.log1p(counts.data / expected[counts.indices]).astype(np.float32)
    loss = np.log(strength / (strength + by_tool)).astype(np.float32)
    return _Words(counter, counts, loss)
