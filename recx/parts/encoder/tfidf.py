"""TF-IDF: how often a word stands in a text, times how rare it is; a truncated SVD makes short, dense vectors of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge
from scipy import sparse

from recx.core.bounds import PositiveInt, Seed, check
from recx.core.errors import InputError
from recx.core.types import Array, Longs, Vectors
from recx.parts.shared.analyzer import Analyzer
from recx.parts.shared.vectors import unit

ROUNDING = 1e-6  # of the SVD's products with a vector of length 1


@dataclass(frozen=True)
class Tfidf:
    """Counts words or characters in a row; offline and deterministic.

    analyzer: ``word``, or ``char_wb`` (characters within words). shortest, longest: how many in a row make a term.
    hashed: put terms into so many places by a hash, instead of keeping a vocabulary; None: a vocabulary.
    ngrams: of scripts without spaces, up to how many characters in a row make a word.
    split_names: whether the parts of names in CamelCase and snake_case are words, beside the whole name.
    factors: length of the vectors after a truncated SVD (latent semantic analysis: Deerwester et al. 1990); None: one
    number a term, most of them 0.
    """

    analyzer: Literal["word", "char_wb"] = "word"
    shortest: PositiveInt = 1
    longest: PositiveInt = 1
    ngrams: PositiveInt = 2
    split_names: bool = True
    hashed: Annotated[int, Ge(2)] | None = None
    factors: Annotated[int, Ge(2)] | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self, "encoder")
        if self.shortest > self.longest:
            raise InputError(f"encoder.longest={self.longest}: it must not be below encoder.shortest={self.shortest}")

    def fit(self, texts: Array) -> FittedTfidf:
        """Learn how rare every term is, and the axes of the SVD."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer

        words = Analyzer(self.ngrams, self.split_names)
        settings: dict[str, Any] = {"analyzer": self.analyzer, "ngram_range": (self.shortest, self.longest)}
        settings |= {"lowercase": False, "token_pattern": None, "tokenizer": words}
        if self.analyzer == "char_wb":
            settings |= {"preprocessor": words.normal, "tokenizer": None}
        if self.hashed is None:
            counter = CountVectorizer(**settings)
        else:
            counter = HashingVectorizer(**settings, n_features=self.hashed, norm=None, alternate_sign=False)
        try:
            counts = counter.fit_transform(texts if len(texts) else [""])
        except ValueError:  # scikit-learn's "empty vocabulary"
            return FittedTfidf(None, None)
        weight = TfidfTransformer(sublinear_tf=True).fit(counts)
        # Most places that terms may be hashed into stay empty: without them the SVD is several times as fast.
        used = np.flatnonzero(np.bincount(counts.indices, minlength=counts.shape[1]))
        rank = min(len(texts), len(used)) - 1
        if self.factors is None or rank < 2:
            return FittedTfidf(counter, weight)
        axes = TruncatedSVD(min(self.factors, rank), random_state=self.seed)
        axes.fit(weight.transform(counts)[:, used])
        return FittedTfidf(counter, weight, axes, used)


@dataclass(frozen=True, eq=False)
class FittedTfidf:
    """counter, weight, axes: of scikit-learn; None where no text had a term, and where there is no SVD.

    used: the terms that the axes go by, None where there is no SVD.
    """

    counter: Any
    weight: Any
    axes: Any = None
    used: Longs | None = None

    def encode(self, texts: Array) -> Vectors:
        """Return a vector a text [n, d]."""
        if self.counter is None:
            return np.zeros((len(texts), 1), dtype=np.float32)
        if not len(texts):  # which scikit-learn refuses
            return self.encode(np.array([""], dtype=object))[:0]
        found = self.weight.transform(self.counter.transform(texts))
        if self.axes is None:
            return sparse.csr_array(found, dtype=np.float32)
        near = self.axes.transform(found[:, self.used])
        near[np.linalg.norm(near, axis=1) < ROUNDING] = 0  # the text has nothing to do with the axes
        return unit(near)
