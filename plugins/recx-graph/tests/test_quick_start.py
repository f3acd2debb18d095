"""BPR, which is LightGCN without layers, has the figures of RecBole's quick start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

import recx

ROOT = Path(__file__).resolve().parents[3]
FILE = Path(os.environ.get("RECX_DATA", ROOT.parent / "shared" / "data")) / "ml-100k" / "ml-100k.inter.gz"


@pytest.mark.slow
@pytest.mark.skipif(not FILE.is_file(), reason=f"{FILE} is not there: set RECX_DATA")
def test_recboles_quick_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the seeds of ``reproduce recbole_quick_start``, and what docs/coming-from/recbole.md says of them."""
    monkeypatch.chdir(tmp_path)
    told = yaml.safe_load((ROOT / "conf" / "reproduction" / "recbole_quick_start.yaml").read_text(encoding="utf-8"))
    words = [*told["worlds"]["quick_start"], *told["chains"]["bpr"]]
    words = [word.replace("{data}/ml-100k.inter", str(FILE)) for word in words]
    metrics = f"evaluator.end_to_end=[{','.join(told['metrics'])}]"
    found = recx.run([*words, metrics, "tracker=console", "cache=off", "runtime.threads=1"]).metrics
    page = (ROOT / "docs" / "coming-from" / "recbole.md").read_text(encoding="utf-8")
    for expected in told["expected"]:
        for figure, value in expected["figures"].items():
            assert found[f"end_to_end/{figure}"] == pytest.approx(value, abs=expected["tolerance"]), figure
            assert f"{value:.4f}" in page
            assert f"{expected['measured'][figure]:.4f} ±" in page
