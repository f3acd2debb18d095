"""A program as a ranker: it keeps the promises, and gives each candidate one score."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from recx.core.system import child
from recx.parts.ranker.external import External
from recx.testing import check_ranker, tiny_world
from recx.testing.tiny_dataset import last_out, some_candidates

from ..external_programs import BY_CLICKS, command, in_process


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what programs leave behind removed with the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the scripts in this process."""
    monkeypatch.setattr(child, "run", in_process)


@pytest.mark.usefixtures("here")
def test_a_program_keeps_the_promises_of_a_ranker_but_is_not_kept() -> None:
    with pytest.raises(AssertionError, match="what an external program has learnt, which is this run's alone"):
        check_ranker(External(command(BY_CLICKS)), tiny_world())  # the last of its checks


def test_candidates_are_ranked_by_the_scores_of_the_program() -> None:
    now = last_out(tiny_world())
    past = last_out(now.history)
    assert past.target is not None
    candidates = some_candidates(now)
    ranker = External(command(BY_CLICKS)).fit(some_candidates(past), past)
    ranked = ranker.rank(candidates, now.history, now.requests)
    learnt = np.bincount(past.target.item, minlength=now.history.n_items)
    expected = candidates.reorder((learnt[candidates.item] + 0.5 * candidates.score).astype(np.float32))
    np.testing.assert_array_equal(ranked.item, expected.item)
    np.testing.assert_array_equal(ranked.score, expected.score)
