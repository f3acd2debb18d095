"""Contributions of collinear features are added up, and still sum to the score."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recx
from recx.core.fit_summary import FitSummary
from recx.core.types import Doubles, Interactions, RankedLists, Requests
from recx.experiment.contributions import PLUS, AddedUp
from recx.experiment.explain import Reopened
from recx.experiment.saved_runs import SavedRun

TABLE = np.array([[1.0, 10.0, -4.0, 0.5], [2.0, 20.0, -9.0, 0.25]])
TINY = ["+experiment=news", "tracker=console", "dataset.readers=200", "dataset.articles=100", "n_candidates=20"]


@dataclass(frozen=True)
class Fitted:
    names: tuple[str, ...] = ("a", "b", "c", "d")
    summary: FitSummary = field(default_factory=lambda: FitSummary(collinear=[("a", "c")]))

    def contributions(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Doubles:
        return TABLE


def test_a_group_is_one_column_named_after_its_members() -> None:
    lists: Any = None
    added = AddedUp(Fitted())
    assert added.names == ("a + c", "b", "d")
    assert added.contributions(lists, lists, lists).tolist() == [[-3.0, 10.0, 0.5], [-7.0, 20.0, 0.25]]


def test_without_groups_nothing_changes() -> None:
    lists: Any = None
    added = AddedUp(Fitted(summary=FitSummary()))
    assert added.names == ("a", "b", "c", "d")
    assert added.contributions(lists, lists, lists).tolist() == TABLE.tolist()


def test_a_run_with_collinear_features_is_explained_by_their_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    again = "+feature.again={_target_:recx.parts.feature.content.StretchedSimilarity,last:10,recency:0.7}"
    result = recx.run([*TINY, again])
    saved = SavedRun(next(tmp_path.glob("outputs/2*/*")))
    reopened = Reopened.of(saved)
    user = str(result.interactions.users.ids[result.recommendations.user[0]])
    explanation = reopened.explain(user)
    [joint] = [name for name in explanation.contributions if "again" in name]
    assert "news_phi_rel" in joint.split(PLUS)
    assert {"again", "news_phi_rel"}.isdisjoint(explanation.contributions)
    total = np.sum(list(explanation.contributions.values()), axis=0)
    assert total == pytest.approx(explanation.candidates["score"], abs=1e-4)

    assert isinstance(reopened.ranker, AddedUp)
    apart = replace(reopened, ranker=reopened.ranker.ranker).explain(user).contributions
    parts = [apart[name] for name in joint.split(PLUS)]
    assert np.sum(parts, axis=0) == pytest.approx(explanation.contributions[joint])
