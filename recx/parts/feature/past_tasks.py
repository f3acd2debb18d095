"""Features of the past tasks that the tool answered, from the history only.

The words of a task may have little in common with the tool's description and much with past tasks. All features are 0
if the data has times: they use the whole history, part of which may be later than the request.
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
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.texts import (
    answered,
    known_user_vectors,
    nearest_texts,
    past_tasks,
    products_of_lists,
    query_vectors,
    texts_of,
    word_counter,
)
from recx.parts.shared.top_k import CELLS


@dataclass(frozen=True)
class PastTasks:
    """Cosine of the task and the mean of the past tasks that the tool answered; 0 if it answered none.

    Attributes:
        encoder: Encodes texts as vectors.
    """

    encoder: Encoder

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        if history.time is not None:
            return np.zeros(len(candidates), dtype=np.float32)
        return products_of_lists(
            candidates, query_vectors(requests, history, self.encoder), past_tasks(history, self.encoder)
        )


@dataclass(frozen=True)
@checked("feature")
class NearestTasks:
    """Share of the nearest past tasks that the tool answered, weighted by their cosine; 0 if none is near.

    Attributes:
        encoder: Encodes texts as vectors.
        k: Number of nearest past tasks.
    """

    encoder: Encoder
    k: PositiveInt = 20

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        if history.time is not None:
            return np.zeros(len(candidates), dtype=np.float32)
        tasks = query_vectors(requests, history, self.encoder)
        past = known_user_vectors(history, self.encoder)
        of_tool, n = sparse.csr_array(answered(history)[:, np.flatnonzero(history.lengths)].T), past.shape[0]
        share = np.zeros(len(candidates), dtype=np.float32)
        for start, stop in blocks(candidates.n_lists, max(1, CELLS // max(1, n, history.n_items))):
            rows = slice(int(candidates.indptr[start]), int(candidates.indptr[stop]))
            votes = (nearest_texts(tasks[start:stop], past, self.k) @ of_tool).toarray()
            share[rows] = votes[candidates.list_of_row[rows] - start, candidates.item[rows]]
        return share


@dataclass(frozen=True)
@checked("feature")
class PastWords:
    """How much more probable the task's words are in the past tasks of the tool than in all past tasks.

    The mean over the task's words of log(P(word | tool) / P(word)), the terms of naive Bayes (Maron 1961); a word
    counts once per text. 0 for a task without a known word.

    Attributes:
        strength: Number of words of all past tasks that P(word | tool) is smoothed with.
        ngrams: Of scripts without spaces, up to how many characters in a row make a word.
        split_names: Whether the parts of names in CamelCase and snake_case are words, beside the whole name.
    """

    strength: PositiveFloat = 20.0
    ngrams: PositiveInt = 2
    split_names: bool = True

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        counter = None
        if history.time is None and len(history):
            counter, gains, loss = _words(history, self.strength, Analyzer(self.ngrams, self.split_names))
        if counter is None:
            return np.zeros(len(candidates), dtype=np.float32)
        tasks = sparse.csr_array(counter.transform(texts_of(history.users, "users", candidates.user)))
        gain = products_of_lists(candidates, tasks, gains)
        words = np.asarray(tasks.sum(axis=1)).ravel()[candidates.list_of_row]
        return np.where(words > 0, gain / np.maximum(1, words) + loss[candidates.item], 0).astype(np.float32)


@once_per_input
def _words(history: Interactions, strength: float, analyzer: Analyzer) -> tuple[Any | None, Any, Floats]:
    """Return the word counter, gain [n_items, n_words] and loss [n_items]: log(P(word | tool) / P(word)) = gain + loss.

    The counter is None if no past task has a word; the gain is 0 for words that the tool's past tasks lack.
    """
    texts = texts_of(history.users, "users", history.lengths > 0)
    counter = word_counter(texts, analyzer, binary=True)
    none = np.zeros((len(texts), 1), dtype=np.float32)
    tasks = sparse.csr_array(none if counter is None else counter.transform(texts))
    counts = sparse.csr_array(answered(history)[:, np.flatnonzero(history.lengths)] @ tasks)
    by_word, by_tool = np.asarray(counts.sum(axis=0)).ravel(), np.asarray(counts.sum(axis=1)).ravel()
    expected = strength * by_word / max(1.0, float(by_word.sum()))
    counts.data = np.log1p(counts.data / expected[counts.indices]).astype(np.float32)
    loss = np.log(strength / (strength + by_tool)).astype(np.float32)
    return counter, counts, loss
