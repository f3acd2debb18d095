"""A sweep on a real MLflow server: its best run, its registered model, and the same lists on another machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
SWEEP = [
    *("-m", "+experiment=news", "dataset.readers=60", "dataset.articles=50", "n_candidates=10", "fold=valid"),
    *("retriever=popularity", "ranker=identity", "retriever.window=6h,24h", "name=shop", "tracker.register=shop"),
]


def recx(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "recx", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_the_best_run_of_an_experiment_predicts_anywhere(start_server: Callable[..., Any], tmp_path: Path) -> None:
    uri = start_server().uri
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    recx(tmp_path / "here", *SWEEP, f"tracker.uri={uri}")
    output = ("--uri", uri, "--output", "top.parquet")
    done = recx(tmp_path / "here", "predict", "best:shop", *output)
    assert "best:shop: run " in done.stderr
    assert "the best of 1" in done.stderr
    best = pd.read_parquet(tmp_path / "here" / "top.parquet")
    [folder] = tmp_path.glob("here/outputs/sweeps/*/best")
    recx(tmp_path / "there", "predict", str(folder), "--output", "top.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "there" / "top.parquet"), best)
    shutil.rmtree(tmp_path / "here" / "outputs")
    for name in ("best:shop", "models:/shop/1", "models:/shop@champion"):
        recx(tmp_path / "there", "predict", name, *output)
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "there" / "top.parquet"), best)
