"""Nobody knows what a local model has seen, and the protocol card says so."""

from __future__ import annotations

from recx_text.encoder import SentenceTransformer
from recx_text.ranker import CrossEncoder

from recx.plugin import UNKNOWN_EVENTS, Loading


def test_the_card_says_that_nobody_knows_what_a_model_has_seen() -> None:
    for part in (SentenceTransformer(model="a/model"), CrossEncoder(model="a/model")):
        assert isinstance(part, Loading)
        assert part.loaded == {"from": "a/model", "seen": UNKNOWN_EVENTS}
