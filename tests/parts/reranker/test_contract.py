"""Every re-ranker keeps the promises of a ranker, alone and after another ranker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recx.core.protocols import FittedRanker
from recx.core.types import Interactions
from recx.parts.encoder.tfidf import Tfidf
from recx.parts.reranker.calibrated import Calibrated
from recx.parts.reranker.mmr import MMR
from recx.parts.reranker.popularity import Popularity
from recx.parts.reranker.xquad import XQuAD
from recx.testing import check_ranker, tiny_world

RERANKERS: dict[str, FittedRanker] = {
    "mmr": MMR(Tfidf()),
    "mmr, few places": MMR(Tfidf(), relevance=0.2, top=3),
    "mmr, texts": MMR(Tfidf(), similarity="text"),
    "mmr, co-clicks": MMR(Tfidf(), relevance=0.4, similarity="co_clicks"),
    "xquad": XQuAD(),
    "xquad, binary": XQuAD(coverage=0.9, variant="binary", top=3),
    "calibrated": Calibrated(),
    "calibrated, popularity": Calibrated(0.8, by="popularity", divergence="js", top=4),
    "popularity": Popularity(),
    "popularity, least first": Popularity(1.0),
}


def world(times: bool) -> Interactions:
    tiny = tiny_world(times=times)
    texts = np.array([f"word{n % 5} common" if n % 4 else "" for n in range(tiny.n_items)], dtype=object)
    return replace(tiny, items=replace(tiny.items, table={**tiny.items.table, "text": texts}))


@pytest.mark.parametrize("reranker", RERANKERS.values(), ids=RERANKERS.keys())
@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
def test_a_reranker_keeps_its_promises(reranker: FittedRanker, times: bool) -> None:
    check_ranker(reranker, world(times))
