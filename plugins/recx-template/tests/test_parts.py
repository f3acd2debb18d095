"""Every part fulfils the contract of its kind and does what its docstring says."""

import numpy as np
from recx_template.parts import Blend, CappedRecall, Freshness, Newest

from recx.plugin import RankedLists, Requests, indptr_of
from recx.testing import check_feature, check_metric, check_option, check_ranker, check_retriever, tiny_world


def test_the_parts_fulfil_their_contracts() -> None:
    check_retriever(Newest())
    check_ranker(Blend())
    check_feature(Freshness())
    check_metric(CappedRecall(k=3))
    check_option("retriever/template")


def test_freshness_halves() -> None:
    world = tiny_world()
    item, hours = int(world.item[0]), np.array([0, 24, 48])
    since = world.items.table["created_at"][item]
    born = int(min(since, world.first_seen[item]))
    lists = RankedLists(
        user=np.arange(3, dtype=np.int32),
        indptr=indptr_of(np.ones(3, dtype=np.int64)),
        item=np.full(3, item, dtype=np.int32),
        score=np.zeros(3, dtype=np.float32),
    )
    requests = Requests(lists.user, born + hours * 3_600_000)
    assert np.allclose(Freshness()(lists, world, requests), [1, 0.5, 0.25])
