"""Texts of users and items as vectors, shared by retrievers, features and rankers.

Vectors are float32 [n, d]; rows have length 1, or are 0 where there is no text. They are a NumPy array, or a SciPy CSR
array where most entries are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from recx.core.entities import Entities
from recx.core.errors import InputError
from recx.core.memo import once_per_input
from recx.core.protocols import Encoder, FittedEncoder
from recx.core.ragged import blocks, indptr_of, sum_of_groups
from recx.core.types import Array, Interactions, Longs, Requests, Vectors
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.products import products
from recx.parts.shared.top_k import CELLS, top_of_table
from recx.parts.shared.vectors import unit


@dataclass(frozen=True, eq=False)
class UserTexts:
    """The texts of all users.

    Attributes:
        column: The texts [n_users], of which none is read or copied before it is asked for.
    """

    column: Array

    @classmethod
    def in_(cls, history: Interactions) -> UserTexts:
        """Return the texts of a history's users; raises InputError if they have none."""
        return cls(text_column(history.users, "users"))

    def for_users(self, history: Interactions) -> UserTexts:
        return UserTexts.in_(history)

    def of(self, chosen: Array | slice) -> Array:
        """Return the texts of some users, by their numbers, a mask or a slice, as Python's [n]."""
        return texts_in(self.column, chosen)


@dataclass(frozen=True, eq=False)
class Encoded:
    """The vectors of all items; their product with a user's vector is the cosine similarity.

    Attributes:
        items: The vectors [n_items, d].
        fitted: The encoder that made them, which also encodes the users' texts.
        users: The users' texts.
    """

    items: Vectors
    fitted: FittedEncoder
    users: UserTexts

    def with_items(self, texts: Array) -> Encoded:
        """Return the same with further items, given by their texts [n]."""
        new = _vectors(self.fitted, texts)
        stack = np.vstack if isinstance(self.items, np.ndarray) else partial(sparse.vstack, format="csr")
        return replace(self, items=stack([self.items, new]))

    def of_users(self, chosen: Array) -> Vectors:
        """Return the texts of some users, by their numbers or a mask, as vectors [n, d]."""
        return _vectors(self.fitted, self.users.of(chosen))


@once_per_input
def encoded(history: Interactions, encoder: Encoder) -> Encoded:
    """Return the items' texts as vectors, from an encoder fitted on the known texts.

    The encoder learns from the texts of the items and of the users with events in the history, so that the other
    requests have no influence. If the data has times, it learns from the items' texts only, since some users' requests
    are later than others. A text that occurs several times is learned from once.

    Raises:
        InputError: The users or the items have no texts.
    """
    known = history.lengths > 0 if history.time is None else slice(0)
    users, items = texts_of(history.users, "users", known), texts_of(history.items, "items")
    fitted = encoder.fit(_distinct(np.concatenate([items, users]))[1])
    return Encoded(_vectors(fitted, items), fitted, UserTexts.in_(history))


@once_per_input
def query_vectors(requests: Requests, texts: Encoded) -> Vectors:
    """Return the texts of the requests' users as vectors [n_lists, d], once for all features of these requests."""
    return texts.of_users(requests.user)


@once_per_input
def known_user_vectors(history: Interactions, encoder: Encoder) -> Vectors:
    """Return the texts of the users with events in the history as vectors, in their order."""
    return encoded(history, encoder).of_users(history.lengths > 0)


def _vectors(fitted: FittedEncoder, texts: Array) -> Vectors:
    """Return the vector of each text [n, d]; equal texts are encoded once."""
    place, distinct = _distinct(texts)
    return fitted.encode(distinct)[place]


def _distinct(texts: Array) -> tuple[Longs, Array]:
    """Return the index of each text among the distinct ones [n], and the distinct ones in order of appearance."""
    import pandas as pd

    place, distinct = pd.factorize(texts)
    return place, distinct


def nearest_texts(vectors: Vectors, past: Vectors, k: int) -> Any:
    """Return the ``k`` nearest past vectors of each vector, ties broken by position.

    Returns:
        A CSR [n, n_past] of the positive cosines, scaled to sum to 1 in each row.
    """
    n, n_past = vectors.shape[0], past.shape[0]
    rows = [sparse.csr_array((0 if n_past else n, n_past), dtype=np.float32)]
    for start, stop in blocks(n if n_past else 0, max(1, CELLS // max(1, n_past))):
        cosine = products(vectors[start:stop], past)
        cosine[cosine <= 0] = -np.inf
        lengths, column, near = top_of_table(cosine, min(k, n_past))
        indptr = indptr_of(lengths)
        near /= np.repeat(sum_of_groups(near, indptr), lengths)
        rows.append(sparse.csr_array((near, column, indptr), shape=cosine.shape))
    return sparse.vstack(rows, format="csr")


@once_per_input
def past_tasks(history: Interactions, encoder: Encoder) -> Vectors:
    """Return the mean vector of the texts that each item answered in the history [n_items, d], of length 1 or 0."""
    return unit_rows(answered(history)[:, np.flatnonzero(history.lengths)] @ known_user_vectors(history, encoder))


def answered(history: Interactions) -> Any:
    """Return a CSR with 1 where an item answered a user in the history, however often [n_items, n_users]."""
    one = np.ones(len(history), dtype=np.float32)
    found = sparse.csr_array((one, (history.item, history.user)), shape=(history.n_items, history.n_users))
    found.data[:] = 1  # repeated pairs were added up
    return found


def unit_rows(vectors: Vectors) -> Vectors:
    """Return the vectors [n, d], dense or sparse, scaled to length 1; zero vectors stay zero."""
    if isinstance(vectors, np.ndarray):
        return unit(vectors)
    length = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1), dtype=np.float64).ravel())
    return scaled_rows(vectors, 1 / np.maximum(length, 1e-12))


def scaled_rows(vectors: Vectors, by: Array) -> Vectors:
    """Return the vectors [n, d], dense or sparse, each multiplied by its factor [n]."""
    if isinstance(vectors, np.ndarray):
        return vectors * by[:, None].astype(np.float32)
    return sparse.csr_array(sparse.diags_array(by.astype(np.float32)) @ vectors)


def texts_of(entities: Entities, whose: str, chosen: Array | slice = slice(None)) -> Array:
    """Return the texts of all entities, or of the chosen ones [n].

    Args:
        entities: The users or the items.
        whose: ``users`` or ``items``, for the error message.
        chosen: Numbers, mask or slice of the entities.

    Raises:
        InputError: They have no texts.
    """
    return texts_in(text_column(entities, whose), chosen)


def text_column(entities: Entities, whose: str) -> Array:
    """Return the column of the texts [n] itself, of which none is read or copied; see ``texts_of``."""
    if "text" not in entities.table:
        raise InputError(f"the {whose} of this dataset have no text, which this part compares: choose another part")
    return entities.table["text"]


def texts_in(column: Array, chosen: Array | slice) -> Array:
    """Return the chosen texts of a column as Python's [n]."""
    return np.asarray(column[chosen], dtype=object)


@dataclass(frozen=True, eq=False)
class WordCounter:
    """Counts known words in texts.

    Attributes:
        words: The words [n_words].
        analyzer: Finds the words of a text.
        binary: Whether a word counts only once per text.
    """

    words: Array
    analyzer: Callable[[str], list[str]]
    binary: bool = False

    def counts(self, texts: Array) -> Any:
        """Return how often each word occurs in each text, CSR float32 [n, n_words]."""
        if not len(self.words):
            return sparse.csr_array((len(texts), 0), dtype=np.float32)
        return sparse.csr_array(self._counter.transform(texts))

    @cached_property
    def _counter(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        number = {word: place for place, word in enumerate(self.words)}
        return CountVectorizer(analyzer=self.analyzer, vocabulary=number, binary=self.binary, dtype=np.float32)


def word_counter(texts: Array, analyzer: Analyzer, *, binary: bool = False) -> WordCounter:
    """Return the counter of the words of these texts.

    Args:
        texts: The texts [n].
        analyzer: Finds the words of a text.
        binary: Whether a word counts only once per text.
    """
    words = sorted({word for text in texts for word in analyzer(text)})
    return WordCounter(np.array(words, dtype=object), analyzer, binary)
