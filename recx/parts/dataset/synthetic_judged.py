"""A made-up collection of judged documents with texts and features, in the likeness of LETOR's MQ2008."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from recx.core.bounds import PositiveInt, Seed, check
from recx.core.entities import Entities
from recx.core.ragged import group_of_rows, indptr_of, max_of_groups
from recx.core.types import Array, Doubles, Floats, Interactions, Longs
from recx.parts.dataset.judgements import Pairs, judged

DOCUMENTS = (6, 34)
"""Fewest and most documents of a query; MQ2008 has 19 on average."""
SHARES = (0.72, 0.16, 0.08, 0.04)
"""How many of the documents are not relevant, weakly relevant, relevant, highly relevant."""
SIGNAL = 0.25
"""Part of the features that say something of the relevance."""
JUDGES, WORDS_OF_QUERY, SYLLABLES = (
    0.9,
    (2, 4),
    ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "ru", "sa", "te"),
)


@dataclass(frozen=True)
class SyntheticJudged:
    """Queries and documents with texts, a grade from 0 to 3 and some dozens of numbers for each pair.

    A document's relevance is a weighted sum of a quarter of its features and of how much it is about the query, plus
    the judges' noise; the other features are noise. The words of the query stand in a document the more often, the more
    it is about the query. Every query has a document that is at least weakly relevant.

    queries, features: how many. vocabulary: words that there are. seed: of everything.
    """

    queries: Annotated[int, Ge(10)] = 500
    features: PositiveInt = 46
    vocabulary: Annotated[int, Ge(50)] = 4000
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "dataset")

    def load(self) -> Interactions:
        """Return the judged documents: see ``recx.parts.dataset.judgements``; the same settings make the same."""
        rng = np.random.default_rng(self.seed)
        indptr = indptr_of(rng.integers(DOCUMENTS[0], DOCUMENTS[1] + 1, self.queries))
        query = group_of_rows(indptr)
        about = rng.normal(size=len(query))
        columns, known = _features(rng, self.features, indptr)
        true = 0.8 * known + 0.6 * about + JUDGES * rng.normal(size=len(query))
        words = _words(self.vocabulary)
        asked, texts = _texts(rng, words, query, self.queries, about)
        number = rng.permutation(len(query))
        shown = np.empty(len(query), dtype=object)
        shown[number] = texts
        users = Entities(np.array([f"query {n}" for n in range(1, self.queries + 1)], dtype=object), {"text": asked})
        documents = np.array([f"document {n}" for n in range(1, len(query) + 1)], dtype=object)
        return judged(Pairs(query, number, _grades(true, indptr), columns), users, Entities(documents, {"text": shown}))


def _features(rng: np.random.Generator, n: int, indptr: Longs) -> tuple[dict[str, Floats], Doubles]:
    """Return the features by name, scaled to [0, 1] within their query as LETOR's are, and what they say together."""
    query = group_of_rows(indptr)
    drawn = rng.normal(size=(n, len(query)))
    telling = max(1, round(SIGNAL * n))
    weight = rng.choice([-1.0, 1.0], telling) / np.sqrt(np.arange(1, telling + 1))
    place = rng.permutation(n)
    known: Doubles = weight @ drawn[place[:telling]] / np.linalg.norm(weight)
    columns = {}
    for number, column in enumerate(drawn, start=1):
        low, high = -max_of_groups(-column, indptr)[query], max_of_groups(column, indptr)[query]
        columns[str(number)] = ((column - low) / (high - low)).astype(np.float32)
    return columns, known


def _grades(true: Doubles, indptr: Longs) -> Doubles:
    """Return grades from 0 to 3 in their usual shares; the best document of every query is relevant at least weakly."""
    limits = np.quantile(true, np.cumsum(SHARES)[:-1])
    grade = np.searchsorted(limits, true).astype(np.float64)
    best = true >= np.repeat(max_of_groups(true, indptr), np.diff(indptr))
    return np.where(best, np.maximum(grade, 1.0), grade)


def _words(n: int) -> Array:
    """Return so many words of three syllables or more."""
    base = len(SYLLABLES)
    size = 3
    while base**size < n:
        size += 1
    spread = np.arange(n) * 7919 % base**size  # a prime, so that no two are the same, and neighbours look different
    digits = spread[:, None] // base ** np.arange(size) % base
    return np.array(["".join(SYLLABLES[digit] for digit in row) for row in digits.tolist()], dtype=object)


def _texts(rng: np.random.Generator, words: Array, query: Longs, n_queries: int, about: Doubles) -> tuple[Array, Array]:
    """Return the queries' texts [n_queries] and the documents' [n]."""
    common = 1 / np.arange(1, len(words) + 1)
    common /= common.sum()
    topics = [
        rng.choice(len(words), size, replace=False)
        for size in rng.integers(WORDS_OF_QUERY[0], WORDS_OF_QUERY[1] + 1, n_queries)
    ]
    length = rng.integers(20, 81, len(query))
    other = rng.choice(len(words), int(length.sum()), p=common)
    borders = indptr_of(length)
    times = rng.poisson(2.0 / (1 + np.exp(-1.5 * about)))
    texts = []
    for row, (of, n) in enumerate(zip(query.tolist(), times.tolist(), strict=True)):
        text = np.concatenate([other[borders[row] : borders[row + 1]], rng.choice(topics[of], n)])
        texts.append(" ".join(words[rng.permutation(text)]))
    asked = [" ".join(words[topic]) for topic in topics]
    return np.array(asked, dtype=object), np.array(texts, dtype=object)
