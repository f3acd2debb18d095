"""Requests use the model one after the other, and not too many wait."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from recx.jobs.serve.refusal import Refused
from recx.jobs.serve.turns import Turns


def test_one_at_a_time_in_another_thread() -> None:
    running, most, threads = [0], [0], set()

    def work() -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        threads.add(threading.get_ident())
        time.sleep(0.01)
        running[0] -= 1

    async def all_of_them() -> None:
        turns = Turns(10)
        await asyncio.gather(*(turns.take(work) for _ in range(5)))
        assert turns.waiting == 0

    asyncio.run(all_of_them())
    assert most == [1]
    assert threads == {*threads} - {threading.get_ident()}
    assert len(threads) == 1


def test_too_many_are_refused_and_those_that_gave_up_never_begin() -> None:
    begun: list[int] = []
    go = threading.Event()

    def work(n: int) -> None:
        begun.append(n)
        go.wait(5)

    async def all_of_them() -> None:
        turns = Turns(2)
        tasks = [asyncio.create_task(turns.take(lambda n=n: work(n))) for n in range(3)]  # type: ignore[misc]
        await asyncio.sleep(0.05)
        with pytest.raises(Refused, match="3 requests wait already") as refused:
            await turns.take(lambda: work(9))
        assert refused.value.status_code == 503
        tasks[1].cancel()
        await asyncio.sleep(0)
        go.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert turns.waiting == 0

    asyncio.run(all_of_them())
    assert begun == [0, 2]
