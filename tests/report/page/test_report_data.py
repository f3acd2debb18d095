"""Outcomes of users, by hand-computed numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from recx.config.compose import compose, plain
from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Interactions, RankedLists
from recx.evaluation import blocks, ground_truth
from recx.evaluation.blocks import Blocks
from recx.evaluation.ground_truth import GroundTruth
from recx.experiment import build
from recx.report.page.report_data import ReportData, cut_of, first_rank, outcomes
from recx.report.writers.detailed_results import DetailedResults

N_ITEMS = 9


def blocks_of(targets: list[dict[int, float]], *shown: list[list[int]]) -> Blocks:
    """Return lists, one per user each, and graded targets."""
    pairs = [(user, item, grade) for user, of_user in enumerate(targets) for item, grade in of_user.items()]
    users, items = Entities(np.arange(len(targets))), Entities(np.arange(N_ITEMS))
    none = np.zeros(0, np.int32)
    history = Interactions(np.zeros(len(targets) + 1, np.int64), none, None, np.zeros(0, np.float32), users, items)
    user, item, grade = (np.array(column) for column in zip(*pairs, strict=True))
    known = GroundTruth.of_pairs(user.astype(np.int32), item.astype(np.int32), grade.astype(np.float32), history, 1.0)
    return Blocks(known, [lists_of(one) for one in shown])


def lists_of(shown: list[list[int]]) -> RankedLists:
    lengths = np.array([len(one) for one in shown])
    flat = np.concatenate([np.array(one, np.int32) for one in shown])
    return RankedLists(np.arange(len(shown), dtype=np.int32), indptr_of(lengths), flat, -flat.astype("f4"))


def data_of(before: list[list[int]], after: list[list[int]], k: int) -> ReportData:
    judged = blocks_of([{0: 1.0} for _ in before], before, after)
    return ReportData(cast(Any, SimpleNamespace()), judged.truth, k, **outcomes(judged, k))


def test_every_user_has_one_outcome() -> None:
    before = [[0, 1, 2], [1, 2, 0], [0, 1, 2], [1, 2, 0], [1, 2, 3]]
    after = [[0, 2, 1], [0, 1, 2], [1, 2, 0], [2, 1, 0], [3, 2, 1]]
    one = data_of(before, after, k=1)
    assert one.kind.tolist() == [0, 1, 2, 3, 4]
    assert one.retrieved.tolist() == [1, 3, 1, 3, 0]
    assert one.rank.tolist() == [1, 1, 3, 3, 0]
    assert one.lift.tolist() == [0, 1, -1, 0, 0]
    assert one.cuts.tolist() == [1, 2, 3]
    assert one.curves["candidates"]["recall"] == pytest.approx([2 / 5, 2 / 5, 4 / 5])
    assert one.curves["recommendations"]["recall"] == pytest.approx([2 / 5, 2 / 5, 4 / 5])


def test_blocks_of_users_change_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [[0, 1, 2], [1, 2, 0], [0, 1, 2], [1, 2, 0], [1, 2, 3]]
    after = [[0, 2, 1], [0, 1, 2], [1, 2, 0], [2, 1, 0], [3, 2, 1]]
    whole = data_of(before, after, k=2)
    monkeypatch.setattr(blocks, "ROWS", 4)
    monkeypatch.setattr(blocks, "WHOLE", 4)
    parts = data_of(before, after, k=2)
    for name in ("retrieved", "rank", "ndcg", "lift", "cuts"):
        assert getattr(parts, name).tolist() == getattr(whole, name).tolist(), name
    for name, curve in whole.curves.items():
        for metric, values in curve.items():
            assert parts.curves[name][metric] == pytest.approx(values, abs=1e-12)


def test_the_first_rank_is_of_a_relevant_target() -> None:
    [judged] = blocks_of([{3: 0.5, 5: 1.0}], [[3, 4, 5]]).whole
    assert first_rank(judged).tolist() == [3]


def test_a_page_uses_the_lists_that_the_run_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    matched = []

    def counted(*given: Any) -> Any:
        matched.append(given)
        return matches(*given)

    matches = ground_truth.matches
    monkeypatch.setattr(ground_truth, "matches", counted)
    small = ["tracker=console", "dataset.readers=300", "dataset.articles=150"]
    config = plain(compose(["+experiment=news", *small, "objective=end_to_end/ndcg_at_5"]))
    result = build.experiment(config).run()
    before = len(matched)
    one = ReportData.of(result, config)
    DetailedResults().table(result)
    assert len(matched) == before  # nothing is judged again
    assert one is not None
    assert result.report is not None
    values = result.report.values
    assert one.ndcg == pytest.approx(values["end_to_end/ndcg_at_5"], rel=0, abs=1e-12)
    assert one.lift == pytest.approx(values["funnel/lift_ndcg_at_5"], rel=0, abs=1e-12)
    assert one.curves["recommendations"]["ndcg"][4] == pytest.approx(
        values["end_to_end/ndcg_at_5"].mean(), rel=0, abs=1e-12
    )
    found = one.curves["candidates"]["recall"][49]
    assert found == pytest.approx(values["retrieval/recall_at_50"].mean(), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("objective", "means", "k"),
    [
        ("end_to_end/ndcg_at_7", {}, 7),
        ("end_to_end/top_3_accuracy", {}, 3),
        ("end_to_end/mrr", {"end_to_end/hit_at_5": 0.1, "end_to_end/hit_at_20": 0.1}, 5),
        ("", {"end_to_end/hit_at_20": 0.1, "retrieval/hit_at_2": 0.1}, 10),
    ],
)
def test_the_page_uses_the_cut_of_the_objective(objective: str, means: dict[str, float], k: int) -> None:
    assert cut_of(objective, means) == k
