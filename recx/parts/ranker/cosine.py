"""Documents ranked by the similarity of their texts to the query's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recx.core.protocols import Encoder
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.products import products_of_lists
from recx.parts.shared.texts import encoded, query_vectors


@dataclass(frozen=True)
class Cosine:
    """Ranks by cosine similarity, without training.

    Attributes:
        encoder: Encodes texts as vectors.
    """

    encoder: Encoder
    gives_probabilities: ClassVar[bool] = False

    def for_users(self, history: Interactions) -> Cosine:
        return self

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by decreasing cosine of the user's and the item's text.

        Raises:
            InputError: The users or the items have no texts.
        """
        texts = encoded(history, self.encoder)
        return candidates.reorder(products_of_lists(candidates, query_vectors(requests, texts), texts.items))
