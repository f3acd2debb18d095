"""What a run costs is said before it asks, and limited."""

from __future__ import annotations

import numpy as np
import pytest
from recx_llm.ranker import DryRun

from recx.plugin import InputError
from recx.testing import last_out, some_candidates

from .conftest import Reply, Server, by_text, llm, ranked, told_world


def test_a_dry_run_says_what_it_would_ask_and_asks_nothing(server: Server) -> None:
    prices = {"tiny": {"input": 10.0, "output": 100.0}}
    with pytest.raises(DryRun) as raised:
        ranked(llm(server, dry_run=True, max_tokens=50, prices=prices))
    assert server.asked == []
    assert raised.value.exit_code == 0
    fold = last_out(told_world())
    lists = int((some_candidates(fold).lengths > 1).sum())
    assert f"{lists} calls of tiny" in str(raised.value)
    assert f"at most {50 * lists:,} of answers (at most " in str(raised.value)
    with pytest.raises(DryRun, match=f"about {(4 * 20 + 16) * lists:,} of answers"):
        ranked(llm(server, dry_run=True, max_tokens=None))
    with pytest.raises(DryRun, match=f"at most {30 * lists:,} of answers"):
        ranked(llm(server, dry_run=True, max_tokens=None, extra={"max_completion_tokens": 30}))


def test_the_cost_is_known_before_anything_is_asked(server: Server) -> None:
    prices = {"tiny": {"input": 0.0, "output": 1000.0}}
    fold = last_out(told_world())
    lists = int((some_candidates(fold).lengths > 1).sum())
    cost = lists * 20 * 1000 / 1e6
    with pytest.raises(InputError, match=rf"the calls to come bring the cost to {cost:.4g}, as estimated"):
        ranked(llm(server, max_tokens=20, prices=prices, max_cost=cost - 1e-6))
    assert server.asked == []
    _, after = ranked(llm(server, max_tokens=20, prices=prices, max_cost=cost + 1e-6))
    assert after.notes["llm_requests_cost"] == pytest.approx(lists * 10 * 1000 / 1e6)


def test_a_run_that_costs_more_than_estimated_stops_at_the_limit(server: Server) -> None:
    server.reply = lambda prompt: Reply(by_text(prompt), usage={"prompt_tokens": 0, "completion_tokens": 1000})
    prices = {"tiny": {"input": 0.0, "output": 1000.0}}  # 1 for each answer
    with pytest.raises(InputError, match="3 are spent"):
        ranked(llm(server, max_tokens=10, prices=prices, max_cost=3, concurrency=1))
    assert len(server.asked) == 3


def test_blocks_of_requests_share_the_limit(server: Server) -> None:
    prices = {"tiny": {"input": 0.0, "output": 1000.0}}
    fold = last_out(told_world())
    candidates = some_candidates(fold)
    ranker = llm(server, max_tokens=10, prices=prices, max_cost=0.2)  # for 20 answers
    half = candidates.n_lists // 2
    ranker.rank(candidates[:half], fold.history, fold.requests[np.arange(half)])
    spent = len(server.asked)
    assert 10 < spent <= 20  # so that a second one is too much
    with pytest.raises(InputError, match=f"{0.01 * spent:.4g} are spent"):
        ranker.rank(candidates[:half], fold.history, fold.requests[np.arange(half)])
    assert len(server.asked) == spent


def test_an_endpoint_that_does_not_count_has_its_tokens_estimated(server: Server) -> None:
    server.reply = lambda prompt: Reply(by_text(prompt), usage=None)
    before, after = ranked(llm(server))
    assert after.notes["llm_requests_without_usage"] == (before.lengths > 1).sum()
    size = sum(-(-len(body["messages"][0]["content"].encode()) // 4) + 8 for body in server.asked)
    assert after.notes["llm_requests_input_tokens"] == size
