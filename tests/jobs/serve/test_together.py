"""Requests that wait together get their own answers, and none fails for another's sake."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from recx.jobs.serve.together import Together
from recx.jobs.serve.turns import Turns


def test_everybody_gets_their_own_in_few_calls() -> None:
    calls: list[list[Any]] = []

    def answer(users: Sequence[Any]) -> list[Any]:
        calls.append(list(users))
        time.sleep(0.02)
        return [f"for {user}" for user in users]

    async def ask() -> list[list[Any]]:
        together = Together(Turns(10))
        return await asyncio.gather(*(together.take(n % 2, [n, n + 1], answer) for n in range(12)))

    assert asyncio.run(ask()) == [[f"for {n}", f"for {n + 1}"] for n in range(12)]
    assert len(calls) <= 4


def test_a_request_that_fails_fails_alone() -> None:
    def answer(users: Sequence[Any]) -> list[Any]:
        if 3 in users:
            raise ValueError("3")
        return list(users)

    async def ask() -> list[Any]:
        together = Together(Turns(10))
        return await asyncio.gather(*(together.take("", [n], answer) for n in range(5)), return_exceptions=True)

    found = asyncio.run(ask())
    assert [found[n] for n in (0, 1, 2, 4)] == [[0], [1], [2], [4]]
    assert isinstance(found[3], ValueError)


def test_who_gave_up_delays_nobody() -> None:
    def answer(users: Sequence[Any]) -> list[Any]:
        time.sleep(0.05)
        return list(users)

    async def ask() -> Any:
        together = Together(Turns(10))
        first = asyncio.create_task(together.take("", [1], answer))
        await asyncio.sleep(0)
        other = asyncio.create_task(together.take("", [2], answer))
        await asyncio.sleep(0)
        first.cancel()
        return await other

    assert asyncio.run(ask()) == [2]


def test_ids_of_two_types_are_not_mixed() -> None:
    def answer(users: Sequence[Any]) -> list[Any]:
        assert len({type(user) for user in users}) == 1
        return list(users)

    async def ask() -> list[Any]:
        together = Together(Turns(10))
        return await asyncio.gather(together.take("", [1], answer), together.take("", ["1"], answer))

    assert asyncio.run(ask()) == [[1], ["1"]]


def test_too_many() -> None:
    async def ask() -> None:
        together = Together(Turns(-1))
        with pytest.raises(Exception, match="wait already"):
            await together.take("", [1], list)

    asyncio.run(ask())


def test_clients_who_ask_again_are_answered_in_one_call_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recx.jobs.serve.together.PATIENCE", 20.0)  # a machine may be busy
    calls: list[int] = []

    def answer(users: Sequence[Any]) -> list[Any]:
        calls.append(len(users))
        time.sleep(0.05)
        return list(users)

    async def client(together: Together, user: int) -> None:
        for _ in range(4):
            assert await together.take("", [user], answer) == [user]
            await asyncio.sleep(0.001 * user)

    async def ask() -> None:
        together = Together(Turns(10))
        await asyncio.gather(*(client(together, user) for user in range(4)))

    asyncio.run(ask())
    assert sum(calls) == 16
    assert calls.count(4) >= 3


def test_a_client_without_company_never_waits() -> None:
    ends, waits = [0.0], []

    def answer(users: Sequence[Any]) -> list[Any]:
        waits.append(time.perf_counter() - ends[-1])
        time.sleep(0.1)
        ends.append(time.perf_counter())
        return list(users)

    async def ask() -> None:
        together = Together(Turns(10))
        for _ in range(5):
            await together.take("", [1], answer)

    asyncio.run(ask())
    assert min(waits[1:]) < 0.02
