"""What a chain is made of, and that its parts and events fit one another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recx.core.errors import InputError, RecxError
from recx.core.progress import Stages
from recx.core.types import Fold
from recx.experiment.experiment import Result
from recx.experiment.model.chain import Chain
from recx.experiment.model.keep import known_of
from recx.experiment.model.serving import serve_with
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.item_knn import ItemKNN


@pytest.fixture
def chain(result: Result) -> Chain:
    return Chain.of(result)


def test_it_has_the_parts_of_the_run(result: Result, chain: Chain) -> None:
    assert chain.retriever is result.retriever
    assert chain.ranker is result.ranker
    assert chain.n_candidates == 8
    assert chain.items.names is None
    fold = result.split.fold
    lists = serve_with(chain, fold.history, fold.requests, Stages(aloud=False))
    np.testing.assert_array_equal(lists.item, result.recommendations.item)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"retriever": Identity()}, RecxError),
        ({"ranker": ItemKNN()}, TypeError),
        ({"n_candidates": 0}, ValueError),
        ({"n_candidates": 2.0}, ValueError),
        ({"n_candidates": True}, ValueError),
    ],
    ids=str,
)
def test_what_is_no_chain_is_refused(chain: Chain, changed: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        replace(chain, **changed)


def test_events_of_other_items_are_refused(result: Result, chain: Chain) -> None:
    known = known_of(result.interactions, result.experiment.splitter)
    whole = replace(chain, known=known)
    whole.check_read()
    history, requests = known.history, known.requests

    def wrong(**changed: Any) -> Fold:
        return replace(known, history=replace(history, **changed))

    for other in (
        wrong(item=history.item + 5),
        wrong(item=history.item - 5),
        wrong(indptr=history.indptr * 2),
        wrong(indptr=-history.indptr),
        wrong(time=history.time[1:]),  # type: ignore[index]
        replace(known, requests=replace(requests, user=requests.user + 1000)),
    ):
        with pytest.raises(ValueError, match=r"events|numbers|borders|time"):
            replace(whole, known=other).check_read()


def test_a_history_of_other_items_is_refused_by_what_finds_its_way_by_their_numbers(result: Result) -> None:
    history, requests = result.split.fold.history, result.split.fold.requests
    fitted = ItemKNN().fit(history)
    fewer = replace(fitted, weights=fitted.weights[:5, :5])
    with pytest.raises(InputError, match="retriever=item_knn was fitted on 5 items, and this history has 20"):
        fewer.retrieve(history, requests, 3)
