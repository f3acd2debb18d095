"""How lists are asked about: at once, spread over time, and without waiting for an interrupt."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import numpy as np
import pytest
from recx_llm import asking

from recx.plugin import RankedLists, RecxError
from recx.testing import last_out, some_candidates

from .conftest import Reply, Server, by_text, llm, ranked, told_world


def test_too_many_broken_answers_stop_the_run(server: Server) -> None:
    server.reply = lambda prompt: "I cannot do that."
    ranker, fold = llm(server, concurrency=1), last_out(told_world())
    lists = int((some_candidates(fold).lengths > 1).sum())
    with pytest.raises(RecxError) as raised:
        ranked(ranker, fold)
    most = int(0.1 * lists)
    assert len(server.asked) == most + 1  # no more is asked than is needed to know it
    assert str(raised.value) == (
        f"{most + 1} of {lists} answers cannot be read, more than ranker.max_broken allows; the last of them is "
        "'I cannot do that.': look at ranker.prompt, ranker.model and ranker.max_tokens"
    )


def test_the_calls_of_a_run_are_spread_over_time(server: Server) -> None:
    fold = last_out(told_world())
    candidates = some_candidates(fold)
    four = np.flatnonzero(candidates.lengths > 1)[:4]
    start = time.monotonic()
    llm(server, requests_per_minute=600).rank(candidates.take(four), fold.history, fold.requests[four])
    assert time.monotonic() - start >= 0.3
    assert len(server.asked) == 4


@pytest.mark.parametrize("concurrency", [1, 3])
def test_so_many_lists_are_asked_about_at_once(server: Server, concurrency: int) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def counted(prompt: str) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return by_text(prompt)

    server.reply = counted
    ranked(llm(server, concurrency=concurrency))
    assert most == concurrency


def test_an_interrupt_does_not_wait_for_the_endpoint(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply = lambda prompt: Reply(by_text(prompt), wait=600)

    def interrupted(*_: Any, **__: Any) -> None:
        while not server.asked:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "wait", interrupted)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ranked(llm(server))
    assert time.monotonic() - start < 300


def test_it_runs_where_an_event_loop_runs_already(server: Server) -> None:
    """As in a notebook."""

    async def cell() -> tuple[RankedLists, RankedLists]:
        return ranked(llm(server))

    _, after = asyncio.run(cell())
    assert after.notes["llm_requests_sent"] == len(server.asked) > 0
