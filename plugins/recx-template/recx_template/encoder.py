"""An encoder: from texts to vectors whose product says how similar the texts are."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from recx.plugin import Analyzer, Array, PositiveInt, Vectors, checked, unit


@dataclass(frozen=True)
@checked("encoder")  # checks each setting against its annotation
class HashedWords:
    """How often each word occurs, at the place in the vector that the word's hash gives.

    Attributes:
        width: Length of the vectors; words that share a place are taken for the same.
    """

    width: PositiveInt = 1024

    def fit(self, texts: Array) -> HashedWords:
        return self  # nothing to learn; otherwise return another object, the fitted encoder

    def encode(self, texts: Array) -> Vectors:
        vectors = np.zeros((len(texts), self.width), dtype=np.float32)
        words = Analyzer()  # the words of texts in any script
        for vector, text in zip(vectors, texts, strict=True):
            for word in words(text):
                vector[crc32(word.encode("utf-8", "replace")) % self.width] += 1
        return unit(vectors)  # of length 1, or 0 for a text without words
