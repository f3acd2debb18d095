"""A generated collection of judged documents with texts and features, modelled on LETOR's MQ2008."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge

from recx.core.bounds import PositiveInt, Seed, checked
from recx.core.entities import Entities
from recx.core.nouns import OF_SEARCH
from recx.core.ragged import group_of_rows, indptr_of, max_of_groups
from recx.core.types import Array, Doubles, Floats, Interactions, Longs
from recx.parts.dataset.events import made_up, text_array
from recx.parts.dataset.judgements import Pairs, judged
from recx.parts.dataset.synthetic_queries import scaled

DOCUMENTS = (6, 34)
"""Minimum and maximum number of documents of a query; MQ2008 has 19 on average."""
SHARES = (0.72, 0.16, 0.08, 0.04)
"""Shares of documents that are not relevant, weakly relevant, relevant and highly relevant."""
SIGNAL = 0.25
"""Share of the features that are informative."""
JUDGES = 0.9
"""Standard deviation of the judges' noise."""
WORDS_OF_QUERY = (2, 4)
"""Minimum and maximum number of words of a query."""
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "ru", "sa", "te")


@dataclass(frozen=True)
@checked("dataset")
class SyntheticJudged:
    """Queries and documents with texts, and a grade from 0 to 3 and numeric features for each pair.

    A document's relevance is a weighted sum of a quarter of its features and of its closeness to the query, plus the
    judges' noise; the other features are noise. The closer a document is to the query, the more often it contains the
    query's words. Every query has a document that is at least weakly relevant.

    Attributes:
        queries: number of queries, 6 to 34 documents each.
        features: number of features.
        vocabulary: number of distinct words.
        seed: seed of the generator.
    """

    nouns: ClassVar = OF_SEARCH
    queries: Annotated[int, Ge(10)] = 500
    features: PositiveInt = 46
    vocabulary: Annotated[int, Ge(50)] = 4000
    seed: Seed = 0

    def load(self) -> Interactions:
        """Return the judged documents: see ``recx.parts.dataset.judgements``; the same settings make the same."""
        rng = np.random.default_rng(self.seed)
        indptr = indptr_of(rng.integers(DOCUMENTS[0], DOCUMENTS[1] + 1, self.queries))
        query = group_of_rows(indptr)
        about = rng.normal(size=len(query))
        columns, informed = _features(rng, self.features, indptr)
        true = 0.8 * informed + 0.6 * about + JUDGES * rng.normal(size=len(query))
        asked, texts = _texts(rng, _words(self.vocabulary), indptr, about)
        number = rng.permutation(len(query))
        shown = texts[np.argsort(number)]
        users = Entities(text_array(f"query {n}" for n in range(1, self.queries + 1)), {"text": asked})
        items = Entities(text_array(f"document {n}" for n in range(1, len(query) + 1)), {"text": shown})
        return made_up(judged(Pairs(query, number, _grades(true, indptr), columns), users, items))


def _features(rng: np.random.Generator, n: int, indptr: Longs) -> tuple[dict[str, Floats], Doubles]:
    """Return the features by name, scaled to [0, 1] within their query as LETOR's are, and their weighted sum."""
    drawn = rng.normal(size=(n, indptr[-1]))
    informative = max(1, round(SIGNAL * n))
    weight = rng.choice([-1.0, 1.0], informative) / np.sqrt(np.arange(1, informative + 1))
    place = rng.permutation(n)
    informed: Doubles = weight @ drawn[place[:informative]] / np.linalg.norm(weight)
    columns = {str(number): scaled(column, indptr).astype(np.float32) for number, column in enumerate(drawn, start=1)}
    return columns, informed


def _grades(true: Doubles, indptr: Longs) -> Doubles:
    """Return grades from 0 to 3 in their usual shares; the best document of every query is relevant at least weakly."""
    limits = np.quantile(true, np.cumsum(SHARES)[:-1])
    grade = np.searchsorted(limits, true).astype(np.float64)
    best = true >= np.repeat(max_of_groups(true, indptr), np.diff(indptr))
    return np.where(best, np.maximum(grade, 1.0), grade)


def _words(n: int) -> Array:
    """Return ``n`` distinct words of three syllables or more."""
    base, size = len(SYLLABLES), 3
    while base**size < n:
        size += 1
    spread = np.arange(n) * 7919 % base**size  # a prime: all are distinct, and neighbours look different
    digits = spread[:, None] // base ** np.arange(size) % base
    return text_array("".join(SYLLABLES[digit] for digit in row) for row in digits.tolist())


def _texts(rng: np.random.Generator, words: Array, indptr: Longs, about: Doubles) -> tuple[Array, Array]:
    """Return the queries' texts [n_queries] and the documents' [n]."""
    common = 1 / np.arange(1, len(words) + 1)
    sizes = rng.integers(WORDS_OF_QUERY[0], WORDS_OF_QUERY[1] + 1, len(indptr) - 1)
    topics = [rng.choice(len(words), size, replace=False) for size in sizes]
    length = rng.integers(20, 81, len(about))
    other = np.split(rng.choice(len(words), int(length.sum()), p=common / common.sum()), np.cumsum(length)[:-1])
    times = rng.poisson(2.0 / (1 + np.exp(-1.5 * about)))
    texts = []
    for query, n, filler in zip(group_of_rows(indptr), times.tolist(), other, strict=True):
        text = np.concatenate([filler, rng.choice(topics[query], n)])
        texts.append(" ".join(words[rng.permutation(text)]))
    return text_array(" ".join(words[topic]) for topic in topics), text_array(texts)
