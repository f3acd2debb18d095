"""Trials with their files, of one user's values each, without running anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from recx.jobs.sweep.journal import Trial

OBJECTIVE = "end_to_end/ndcg_at_5"
Make = Callable[..., Trial]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that writes the files of a trial: its number, its overrides, and one value per user or None."""

    def trial(
        number: int, overrides: Sequence[str], values: Sequence[float] | None, *, fold: str = "valid", **more: Any
    ) -> Trial:
        folder = tmp_path / str(number)
        config = more.pop("config", {})
        if values is None:
            return Trial(number, tuple(overrides), str(folder), **{"reason": "it broke", "seconds": 1.0, **more})
        folder.mkdir(parents=True)
        name = f"{fold}/{OBJECTIVE}" if fold == "valid" else OBJECTIVE
        pd.DataFrame({"user": np.arange(len(values)), name: np.array(values, dtype=np.float64)}).to_parquet(
            folder / "per_user.parquet"
        )
        mean = float(np.mean(values))
        (folder / "metrics.json").write_text(json.dumps({name: mean}))
        (folder / "protocol.json").write_text(json.dumps({"fold": fold}))
        (folder / "config.yaml").write_text(yaml.safe_dump({"fold": fold, **config}))
        return Trial(number, tuple(overrides), str(folder), **{"seconds": 1.0, "objective": mean, **more})

    return trial
