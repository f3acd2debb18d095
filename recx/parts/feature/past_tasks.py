"""Features of the past tasks that the tool answered, from the history only.

The words of a task may have little in common with the tool's description and much with past tasks.

Known: the task and all tasks of the history. All features are 0 if the data has times, since part of the history may
be later than the request then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.bounds import PositiveFloat, PositiveInt, checked
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder, FittedFeature
from recx.core.ragged import blocks
from recx.core.types import Floats, Interactions, RankedLists, Requests, Vectors
from recx.parts.feature.fitted import Constant, FittedWith
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.products import products_of_lists
from recx.parts.shared.texts import (
    Encoded,
    UserTexts,
    WordCounter,
    answered,
    encoded,
    known_user_vectors,
    nearest_texts,
    past_tasks,
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

    def fit(self, history: Interactions) -> FittedFeature:
        if history.time is not None:
            return Constant(0)
        return FittedWith(self, (encoded(history, self.encoder), past_tasks(history, self.encoder)))

    def values(self, known: tuple[Encoded, Vectors], candidates: RankedLists, requests: Requests) -> Floats:
        texts, means = known
        return products_of_lists(candidates, query_vectors(requests, texts), means)


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

    def fit(self, history: Interactions) -> FittedFeature:
        if history.time is not None:
            return Constant(0)
        of_tool = sparse.csr_array(answered(history)[:, np.flatnonzero(history.lengths)].T)
        return FittedWith(self, (encoded(history, self.encoder), known_user_vectors(history, self.encoder), of_tool))

    def values(self, known: tuple[Encoded, Vectors, Any], candidates: RankedLists, requests: Requests) -> Floats:
        texts, past, of_tool = known
        tasks, share = query_vectors(requests, texts), np.zeros(len(candidates), dtype=np.float32)
        for start, stop in blocks(candidates.n_lists, max(1, CELLS // max(1, *of_tool.shape))):
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

    def fit(self, history: Interactions) -> FittedFeature:
        if history.time is not None or not len(history):
            return Constant(0)
        return FittedWith(self, _words(history, self.strength, Analyzer(self.ngrams, self.split_names)))

    def values(self, known: _Words, candidates: RankedLists, requests: Requests) -> Floats:
        tasks = known.counter.counts(known.users.of(candidates.user))
        gain = products_of_lists(candidates, tasks, known.gain)
        words = np.asarray(tasks.sum(axis=1)).ravel()[candidates.list_of_row]
        return np.where(words > 0, gain / np.maximum(1, words) + known.loss[candidates.item], 0).astype(np.float32)


@dataclass(frozen=True, eq=False)
class _Words:
    """The words of the past tasks: log(P(word | tool) / P(word)) = gain + loss.

    Attributes:
        counter: Finds the words in a task.
        gain: CSR [n_items, n_words]; 0 for words that the tool's past tasks lack.
        loss: [n_items].
        users: The users' texts.
    """

    counter: WordCounter
    gain: Vectors
    loss: Floats
    users: UserTexts


@once_per_input
def _words(history: Interactions, strength: float, analyzer: Analyzer) -> _Words:
    texts = texts_of(history.users, "users", history.lengths > 0)
    counter = word_counter(texts, analyzer, binary=True)
    counts = sparse.csr_array(answered(history)[:, np.flatnonzero(history.lengths)] @ counter.counts(texts))
    by_word, by_tool = np.asarray(counts.sum(axis=0)).ravel(), np.asarray(counts.sum(axis=1)).ravel()
    expected = strength * by_word / max(1.0, float(by_word.sum()))
    counts.data = np.log1p(counts.data / expected[counts.indices]).astype(np.float32)
    loss = np.log(strength / (strength + by_tool)).astype(np.float32)
    return _Words(counter, counts, loss, UserTexts.in_(history))
