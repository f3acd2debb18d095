"""Which of two models is to be used: the better one on the same users, data and rules, if that is no chance."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from recx.experiment.model.contest import ContestOnValid

OBJECTIVE = "end_to_end/ndcg_at_5"
CARD: dict[str, Any] = {"fold": "valid", "data_hash": "d1", "truth": "t1", "n_candidates": 100, "users": {"judged": 40}}
WORSE, BETTER = np.tile([0.0, 1.0, 0.5, 0.25], 10), np.tile([0.5, 1.0, 0.75, 0.5], 10)


def run(
    folder: Path,
    values: Sequence[float] | np.ndarray[Any, Any],
    *,
    users: Sequence[Any] = tuple(range(40)),
    card: dict[str, Any] | None = None,
    objective: str = OBJECTIVE,
) -> Path:
    """Write what the best run of a sweep keeps of its trial of ``fold=valid``."""
    valid = folder / "valid"
    valid.mkdir(parents=True)
    config = {"objective": objective, "fold": "valid"}
    (valid / "config.yaml").write_text(yaml.safe_dump(config))
    (valid / "protocol.json").write_text(json.dumps({**CARD, **(card or {})}))
    (valid / "metrics.json").write_text(json.dumps({f"valid/{objective}": float(np.nanmean(values))}))
    frame = pd.DataFrame({"user": list(users), f"valid/{objective}": np.asarray(values, dtype=float)})
    frame.to_parquet(valid / "per_user.parquet", index=False)
    return folder


def test_the_better_one_wins_whichever_came_first(tmp_path: Path) -> None:
    worse, better = run(tmp_path / "worse", WORSE), run(tmp_path / "better", BETTER)
    won, lost = ContestOnValid(better).verdict(worse), ContestOnValid(worse).verdict(better)
    assert (won.better, lost.better) == (True, False)
    # The means are 0.6875 and 0.4375, and 30 of 40 users have the higher value: no sign flip of them is as far from 0.
    assert won.why.startswith("valid/end_to_end/ndcg_at_5 0.6875, +0.2500 over 40 users, p = ")
    assert "which is not better with p < 0.05" in lost.why


def test_a_difference_that_may_be_chance_does_not_win(tmp_path: Path) -> None:
    values = WORSE.copy()
    values[:4] += [0.1, 0.0, 0.1, 0.1]  # of three users that differ, an eighth of the signs is all positive: p = 0.25
    verdict = ContestOnValid(run(tmp_path / "new", values)).verdict(run(tmp_path / "old", WORSE))
    assert not verdict.better
    assert "p = 0.25" in verdict.why


def test_equal_values_do_not_win(tmp_path: Path) -> None:
    verdict = ContestOnValid(run(tmp_path / "new", WORSE)).verdict(run(tmp_path / "old", WORSE))
    assert not verdict.better
    assert "+0.0000 over 40 users, p = 1" in verdict.why


def test_the_order_of_users_does_not_matter(tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation(40)
    old = run(tmp_path / "old", WORSE)
    one = ContestOnValid(run(tmp_path / "one", BETTER)).verdict(old)
    other = ContestOnValid(run(tmp_path / "other", BETTER[order], users=order.tolist())).verdict(old)
    assert one == other


@pytest.mark.parametrize(
    ("differs", "why"),
    [
        ({"card": {"data_hash": "d2"}}, "the runs are of different data"),
        ({"card": {"n_candidates": 50}}, "the rules of their protocol cards differ (n_candidates: 100, 50)"),
        ({"card": {"truth": "t2"}}, "the rules of their protocol cards differ (truth: t1, t2)"),
        ({"card": {"fold": "test"}}, "the rules of their protocol cards differ (fold: valid, test)"),
        ({"objective": "end_to_end/mrr"}, "the objectives differ (end_to_end/ndcg_at_5, end_to_end/mrr)"),
        ({"users": range(1, 41)}, "they judge different users (40, 40)"),
        ({"users": [str(user) for user in range(40)]}, "they judge different users (40, 40)"),
    ],
)
def test_nothing_is_compared_that_does_not_compare(tmp_path: Path, differs: dict[str, Any], why: str) -> None:
    new, old = run(tmp_path / "new", BETTER), run(tmp_path / "old", WORSE, **differs)
    verdict = ContestOnValid(new).verdict(old)
    assert not verdict.better
    assert why in verdict.why


def test_an_objective_that_counts_other_users_does_not_compare(tmp_path: Path) -> None:
    """As that of ``ranking/``, which leaves out whom the retriever has failed: the easy users of one are not both's."""
    values = BETTER.copy()
    values[3] = np.nan
    verdict = ContestOnValid(run(tmp_path / "new", values)).verdict(run(tmp_path / "old", WORSE))
    assert not verdict.better
    assert verdict.why == f"{OBJECTIVE} counts different users in both"


def test_only_values_of_valid_may_choose(tmp_path: Path) -> None:
    (tmp_path / "single").mkdir()
    for champion in (None, run(tmp_path / "old", WORSE)):
        verdict = ContestOnValid(tmp_path / "single").verdict(champion)
        assert not verdict.better
        assert verdict.why == "it has no values of fold=valid, which the best run of a sweep has"
    assert ContestOnValid(tmp_path / "old").verdict(None).better
    assert not ContestOnValid(tmp_path / "old").verdict(tmp_path / "single").better


@pytest.mark.parametrize("name", ["config.yaml", "protocol.json", "metrics.json", "per_user.parquet"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"[1, 2]"])
def test_a_champion_with_damaged_files_stays(tmp_path: Path, name: str, content: bytes | None) -> None:
    new, old = run(tmp_path / "new", BETTER), run(tmp_path / "old", WORSE)
    if content is None:
        (old / "valid" / name).unlink()
    else:
        (old / "valid" / name).write_bytes(content)
    verdict = ContestOnValid(new).verdict(old)
    assert not verdict.better
    assert verdict.why


def test_the_files_that_are_needed_are_those_that_are_named(tmp_path: Path) -> None:
    old, alone = run(tmp_path / "old", WORSE), tmp_path / "alone"
    contest = ContestOnValid(run(tmp_path / "new", BETTER))
    for name in contest.files:
        (alone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(old / name, alone / name)
    assert contest.verdict(alone) == contest.verdict(old)
