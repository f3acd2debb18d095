"""The Python of docs/how-to/frames.md works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "frames.md"


@pytest.mark.slow
def test_what_the_page_shows_runs(here: Path) -> None:
    rng = np.random.default_rng(0)
    log = pd.DataFrame({"uid": rng.integers(0, 40, 300), "sku": rng.integers(0, 25, 300)})
    log.assign(ts=pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(300), unit="h")).to_parquet("log.parquet")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    assert names["result"].interactions.n_users == 40
    assert len(names["trials"]) == 2
