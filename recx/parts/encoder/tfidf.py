"""TF-IDF: how often a word stands in a text, times how rare it is; a truncated SVD makes short, dense vectors of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge
from scipy import sparse

from recx.core.bounds import PositiveInt, Seed, check
from recx.core.errors import InputError
from recx.core.types import Array, Doubles, Longs, Vectors
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
        from sklearn.feature_extraction.text import TfidfTransformer

        counter = self.counter(None)
        try:
            counts = counter.fit_transform(texts if len(texts) else [""])
        except ValueError:  # scikit-learn's "empty vocabulary"
            return FittedTfidf(self, None, None)
        terms = None if self.hashed else counter.get_feature_names_out()
        idf = TfidfTransformer().fit(counts).idf_
        # Most places that terms may be hashed into stay empty: without them the SVD is several times as fast.
        used = np.flatnonzero(np.bincount(counts.indices, minlength=counts.shape[1]))
        rank = min(len(texts), len(used)) - 1
        if self.factors is None or rank < 2:
            return FittedTfidf(self, terms, idf)
        axes = TruncatedSVD(min(self.factors, rank), random_state=self.seed)
        axes.fit(_weighted(counts, idf)[:, used])
        return FittedTfidf(self, terms, idf, axes.components_, used)

    def counter(self, terms: Array | None) -> Any:
        """Return scikit-learn's counter of these terms; None: of hashed terms, or of those that it is fitted on."""
        from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

        words = Analyzer(self.ngrams, self.split_names)
        settings: dict[str, Any] = {"analyzer": self.analyzer, "ngram_range": (self.shortest, self.longest)}
        settings |= {"lowercase": False, "token_pattern": None, "tokenizer": words}
        if self.analyzer == "char_wb":
            settings |= {"preprocessor": words.normal, "tokenizer": None}
        if self.hashed is not None:
            return HashingVectorizer(**settings, n_features=self.hashed, norm=None, alternate_sign=False)
        return CountVectorizer(**settings, vocabulary=None if terms is None else terms.tolist())


@dataclass(frozen=True, eq=False)
class FittedTfidf:
    """The fitted encoder.

    Attributes:
        settings: The settings of the fit.
        terms: The terms in the order of the vectors; None if they are hashed, or no text had a term.
        idf: How rare each term is; None if no text had a term.
        axes: The axes of the SVD [n_axes, n_used]; None without one.
        used: The terms that the axes go by; None without axes.
    """

    settings: Tfidf
    terms: Array | None
    idf: Doubles | None
    axes: Doubles | None = None
    used: Longs | None = None

    @cached_property
    def _counter(self) -> Any:
        return self.settings.counter(self.terms)

    def encode(self, texts: Array) -> Vectors:
        """Return a vector a text [n, d]."""
        if self.idf is None:
            return np.zeros((len(texts), 1), dtype=np.float32)
        if not len(texts):  # which scikit-learn refuses
            return self.encode(np.array([""], dtype=object))[:0]
        found = _weighted(self._counter.transform(texts), self.idf)
        if self.axes is None:
            return sparse.csr_array(found, dtype=np.float32)
        near = found[:, self.used] @ self.axes.T
        near[np.linalg.norm(near, axis=1) < ROUNDING] = 0  # the text has nothing to do with the axes
        return unit(near)


def _weighted(counts: Any, idf: Doubles) -> Any:
    """Return (1 + log of the count) times idf, with rows of length 1 or 0, CSR float64."""
    from sklearn.preprocessing import normalize

    found = counts.astype(np.float64)
    found.data = (1 + np.log(found.data)) * idf[found.indices]
    return normalize(found, copy=False)
