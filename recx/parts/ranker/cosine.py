"""Documents by how near their texts are to the query's."""

from __future__ import annotations

from dataclasses import dataclass

from recx.core.protocols import Encoder
from recx.core.types import Interactions, RankedLists, Requests
from recx.parts.shared.texts import asked, encoded, products_of_lists


@dataclass(frozen=True)
class Cosine:
    """Needs no training. encoder: makes vectors of the texts, of which the cosine is taken."""

    encoder: Encoder

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the candidates by the falling cosine of the user's text and the item's.

        Raises:
            InputError: the users or the items have no texts.
        """
        items = encoded(history, self.encoder).items
        return candidates.reorder(products_of_lists(candidates, asked(requests, history, self.encoder), items))
