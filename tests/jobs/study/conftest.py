"""What came of a made-up study, without running anything."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from recx.core.evaluation import Evaluation
from recx.core.resampling import bootstrap
from recx.evaluation import studies
from recx.jobs.study.cells import Cell, CellOutcome

NDCG, RECALL = "end_to_end/ndcg_at_10", "end_to_end/recall_at_20"
GAINS = {"popularity": 0.0, "ease": 0.3, "slim_5": 0.29, "knn": 0.1}
WORLDS = {"films": 80, "beauty": 60, "news": 50}
BROKEN = "it broke at 100 % of <b>$HOME</b>\\x_1"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw less for intervals and tests, whose own tests are elsewhere."""
    monkeypatch.setattr(studies, "DRAWS", 1000)
    monkeypatch.setattr(studies, "DRAWS_PER_RUN", 20)
    monkeypatch.setattr(studies, "bootstrap", partial(bootstrap, resamples=200))


Outcomes = Callable[..., list[CellOutcome]]


@pytest.fixture
def outcomes() -> Outcomes:
    """Return a function that makes outcomes: some chains in some worlds with some seeds, of which some failed."""

    def made(
        *, chains: int = 4, worlds: int = 3, seeds: int = 2, failed: frozenset[tuple[str, str, int]] = frozenset()
    ) -> list[CellOutcome]:
        rng = np.random.default_rng(0)
        found = []
        for world, users in list(WORLDS.items())[:worlds]:
            own = rng.random(users) * 0.5
            for chain, gain in list(GAINS.items())[:chains]:
                values = own + gain + rng.normal(0, 0.02, users)
                for seed in range(seeds):
                    of_seed = values + rng.normal(0, 0.01, users)
                    cell = Cell(chain, world, seed, (f"retriever={chain}", f"seed={seed}"))
                    if (chain, world, seed) in failed:
                        found.append(CellOutcome(cell, None, None, math.nan, 0, BROKEN))
                        continue
                    evaluation = Evaluation(
                        np.arange(users), {NDCG: of_seed, RECALL: of_seed**2}, rules={"truth": world}
                    )
                    folder = Path("outputs", "studies", "mine", world, chain, str(seed))
                    found.append(CellOutcome(cell, folder, evaluation, 1.5 + seed, 2_000_000 * (seed + 1)))
        return found

    return made
