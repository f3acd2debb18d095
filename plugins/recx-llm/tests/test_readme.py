"""The commands of the README run as they stand there, on small data, against an endpoint of the test."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from .conftest import Call, Server

PAGE = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").replace("\\\n   ", "")
LINES = re.findall(r"^python -m recx (.*)$", PAGE, re.MULTILINE)
ADDRESS, KEY = "http://127.0.0.1:8000/v1", "sk-0123456789abcdefghij"
SMALL = ["dataset.tasks=80", "dataset.tools=12", "runtime.threads=1", "cache=off"]


@pytest.mark.parametrize("line", LINES)
def test_every_command_runs(
    line: str, server: Server, call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(LINES) == 4
    monkeypatch.setenv("MY_API_KEY", KEY)
    words = [word.replace(ADDRESS, server.url) for word in shlex.split(line)]
    tracker = [] if "ranker.api_key_env=MY_API_KEY" in words else ["tracker=console"]
    assert call(*words, *SMALL, *tracker) == 0
    printed = capsys.readouterr()
    if "ranker.dry_run=true" in words:
        assert server.asked == []
        assert "| Answer with a JSON list" in printed.out
        assert printed.err.startswith("dry run, nothing was asked: ranker=llm: ")
        return
    [file] = Path().glob("outputs/2*/*/metrics.json")
    figures, card = json.loads(file.read_text()), json.loads(file.with_name("protocol.json").read_text())
    asked = figures["data/llm_requests_sent"]
    assert asked == len(server.asked) > 0
    assert figures["data/llm_requests_input_tokens"] == card["notes"]["llm_requests_input_tokens"] == 100 * asked
    assert card["loaded"]["ranker"]["from"] == f"NAME at {server.url}"
    assert "llm requests sent" in printed.out
    if tracker == []:
        assert figures["data/llm_requests_cost"] == pytest.approx(asked * (100 * 0.5 + 10 * 1.5) / 1e6)
        assert {sent["Authorization"] for sent in server.sent} == {f"Bearer {KEY}"}
        files = [path for path in Path().rglob("*") if path.is_file()]
        assert any(path.name == "mlflow.db" for path in files)
        assert not any(KEY.encode() in path.read_bytes() for path in files)
        assert KEY not in printed.out + printed.err
