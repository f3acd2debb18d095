"""The tracker keeps its contract and records how a run ended."""

import json
from pathlib import Path

import pytest
from recx_template.tracker import JsonLog

from recx.plugin import RunContext
from recx.testing import check_option, check_tracker


def test_the_contract(tmp_path: Path) -> None:
    check_tracker(JsonLog(str(tmp_path / "runs.jsonl")))
    check_option("tracker/template")


def test_a_line_says_how_the_run_ended(tmp_path: Path) -> None:
    log = tmp_path / "new" / "runs.jsonl"
    with JsonLog(str(log)).run("news", {"seed": 1}, RunContext()) as run:
        run.log_metrics({"end_to_end/ndcg_at_5": 0.25})
    with pytest.raises(ValueError, match="no data"), JsonLog(str(log)).run("news", {}, RunContext()):
        raise ValueError("no data")
    first, second = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert first["status"] == "finished"
    assert first["metrics"] == {"end_to_end/ndcg_at_5": 0.25}
    assert first["params"] == {"seed": "1"}
    assert second["status"] == "failed"
