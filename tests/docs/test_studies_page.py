"""The code of docs/how-to/studies.md works as it stands there, on a finished study."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from recx.core.evaluation import Evaluation
from recx.jobs.study.cells import Cell, CellOutcome
from recx.jobs.study.output import SUMMARY, write_outputs
from recx.jobs.study.tables import tables_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "studies.md").read_text(encoding="utf-8")
NDCG = "end_to_end/ndcg_at_10"


def test_the_code_and_the_files_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    outcomes = [
        CellOutcome(
            Cell(chain, world, 0, ()), None, Evaluation(np.arange(40), {NDCG: rng.random(40) + high}), 1.0, 1_000_000
        )
        for world in ("films", "news", "beauty")
        for chain, high in (("popularity", 0), ("knn", 0.1), ("ease", 0.2))
    ]
    folder = Path("outputs", "studies", "NAME")
    write_outputs("NAME", tables_of(outcomes, [NDCG], "popularity"), folder)
    [code] = [
        block for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE) if "pivot" in block
    ]
    found: dict[str, object] = {}
    exec(code, found)
    assert getattr(found["tables"], "chains", ()) == ("popularity", "knn", "ease")
    named = re.findall(r"`([\w.]+\.(?:tex|md|csv|svg|json))`", PAGE[PAGE.index("| file |") : PAGE.index("MLflow has")])
    written = {path.name.replace("ndcg_at_10", "METRIC") for path in (folder / SUMMARY).iterdir()} - {"study.html"}
    assert set(named) == written
