"""Answers are kept by content, and a run that was stopped asks for what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.plugin import InputError

from .conftest import Reply, Server, by_text, llm, ranked


def test_answers_are_kept_by_content(server: Server, tmp_path: Path) -> None:
    _, first = ranked(llm(server, cache=str(tmp_path)))
    asked = len(server.asked)
    _, again = ranked(llm(server, cache=str(tmp_path), retries=0, concurrency=1, timeout="5s"))
    assert len(server.asked) == asked
    assert np.array_equal(first.item, again.item)
    assert (again.notes["llm_requests_sent"], again.notes["llm_requests_kept"]) == (0, asked)
    same = ("llm_requests_input_tokens", "llm_requests_output_tokens", "llm_values_missing")
    assert [again.notes[name] for name in same] == [first.notes[name] for name in same] == [100 * asked, 10 * asked, 0]
    ranked(llm(server, cache=str(tmp_path), temperature=0.5))
    assert len(server.asked) == 2 * asked  # what changes an answer changes its key


def test_a_run_that_was_stopped_asks_only_for_what_is_missing(server: Server, tmp_path: Path) -> None:
    def fails_from_the_fifth(prompt: str) -> str | Reply:
        return by_text(prompt) if len(server.asked) < 5 else Reply(status=400, body=b'{"error": {"message": "no"}}')

    server.reply = fails_from_the_fifth
    settings: dict[str, Any] = {"cache": str(tmp_path), "concurrency": 1}
    with pytest.raises(InputError, match="HTTP 400, no: correct the settings of ranker"):
        ranked(llm(server, **settings))
    server.reply = by_text
    server.asked.clear()
    _, after = ranked(llm(server, **settings))
    assert after.notes["llm_requests_kept"] == 4
    assert len(server.asked) == after.notes["llm_requests_sent"]


def test_a_damaged_answer_is_asked_for_again(server: Server, tmp_path: Path) -> None:
    ranked(llm(server, cache=str(tmp_path)))
    damaged = sorted(tmp_path.rglob("*.json"))[:4]
    damaged[0].write_text("{")
    damaged[1].write_text('{"text": 1}')
    damaged[2].write_text('{"text": "[1]", "other": 1}')
    damaged[3].unlink()
    damaged[3].symlink_to(sorted(tmp_path.rglob("*.json"))[5])
    server.asked.clear()
    _, after = ranked(llm(server, cache=str(tmp_path)))
    assert after.notes["llm_requests_sent"] == len(server.asked) == 4
