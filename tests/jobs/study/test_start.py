"""Studies from the command line, in processes of their own that are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from waiting import PATIENCE, until

from recx.tracking.store import open_client

ROOT = Path(__file__).resolve().parents[3]
NEWS = ["+experiment=news", "dataset.readers=60", "dataset.articles=50", "feature=basic", "runtime.threads=1"]
SPEC: dict[str, Any] = {
    "metrics": ["ndcg_at_10"],
    "seeds": [0, 1, 2, 3],
    "tuning": {"trials": 2},
    "chains": {
        "random": ["retriever=random", "ranker=identity"],
        "knn": {"overrides": ["retriever=item_knn", "ranker=identity"], "tune": ["retriever.neighbours=1,20"]},
    },
    "worlds": {"small": NEWS},
}


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start a study in a process of its own."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.yaml").write_text(yaml.safe_dump(SPEC), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RECX_DEBUG": "0"}
    command = [sys.executable, "-m", "recx", "study", "mine.yaml", *words]
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(folder: Path, *words: str) -> str:
    """Run a study to its end; return what it said."""
    process = start(folder, *words)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, ""), err
    return out


def table(folder: Path) -> str:
    return (folder / "outputs" / "studies" / "mine" / "summary" / "table_ndcg_at_10.csv").read_text(encoding="utf-8")


def cells(folder: Path) -> int:
    return len(list((folder / "outputs" / "studies" / "mine").glob("journal/*/*/[0-9]*.json")))


@pytest.mark.slow
def test_a_study_that_is_killed_and_resumed_gives_the_same_table(tmp_path: Path) -> None:
    finish(tmp_path / "whole", "jobs=1", "tracker=console")
    moments, folder = random.Random(0), tmp_path / "killed"
    for number in (signal.SIGKILL, signal.SIGINT):
        wanted = cells(folder) + 1  # by this process: it is in the midst of its work
        process = start(folder, "jobs=2", *(["resume"] if (folder / "outputs").exists() else []))
        until(lambda: process.poll() is not None or cells(folder) >= wanted)  # noqa: B023
        time.sleep(moments.uniform(0.05, 0.3))
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in err
    assert process.returncode == 130
    assert err == "interrupted\n"
    said = finish(folder, "jobs=2", "resume")

    assert f"{cells(folder)} of {cells(folder)}" in said
    assert "of them done before" in said
    assert table(folder) == table(tmp_path / "whole")
    runs = open_client(f"sqlite:///{folder}/outputs/mlflow.db").search_runs(["1"])
    [parent] = [run for run in runs if run.data.tags.get("recx.role") == "sweep"]
    assert {run.data.tags.get("mlflow.parentRunId") for run in runs if run is not parent} == {parent.info.run_id}
    assert "RUNNING" not in {run.info.status for run in runs}
    of_cells = [run for run in runs if run.data.tags.get("recx.role") == "cell" and run.info.status == "FINISHED"]
    assert len(of_cells) >= 8
